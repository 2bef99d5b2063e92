import type { ErrorRecord } from '../errors.ts';

/** What a task does. Each kind has a queue (a queue with its own concurrency) of the same name. */
export const TASK_KINDS = ['Compact', 'IndexId', 'MergeWal', 'OptimizeIndices', 'Prune'] as const;

export type TaskKind = (typeof TASK_KINDS)[number];

/** Ids are 1 to so many printable ASCII characters without spaces. */
export const MAX_ID_LENGTH = 200;

/** `waiting` (a dependency is not done) -> `queued` -> `running` -> `done` | `failed`; a retry goes back to `queued`. */
export type TaskState = 'waiting' | 'queued' | 'running' | 'done' | 'failed';

/** What somebody asks for. Requests of the same kind and target join one task. */
export interface TaskRequest {
  /** Names the request; the same id asked twice is the same request. Without it a request has no memory of its own. */
  readonly taskId?: string;
  readonly kind: TaskKind;
  /** Canonical URI of the table. */
  readonly target: string;
  /** Ids of tasks that have to be done before; at most 20. */
  readonly dependsOn?: readonly string[];
  readonly reason?: string;
  /** Passes a cooldown once. */
  readonly force?: boolean;
}

/** One unit of work as the ledger holds it. Times are epoch milliseconds. */
export interface Task {
  readonly id: string;
  readonly kind: TaskKind;
  readonly target: string;
  readonly state: TaskState;
  /** Why it was asked for: the first 20 distinct reasons. */
  readonly reasons: readonly string[];
  /** All distinct reasons that came, also those beyond the 20. */
  readonly reasonCount: number;
  /** Every dependency ever asked for. */
  readonly dependsOn: readonly string[];
  /** The dependencies that are not done yet. */
  readonly pendingDependencies: readonly string[];
  /** A dependency's rank is always lower than its dependent's. */
  readonly rank: number;
  readonly force: boolean;
  /** Attempts started. */
  readonly attempts: number;
  /** Attempts that failed and count towards the limit of 8; contention and shutdown do not. */
  readonly failures: number;
  readonly notBefore?: number;
  /** The base version that the first attempt began from; results are measured from here. */
  readonly firstBaseVersion?: number;
  readonly result?: WorkResult;
  /** The error of the last attempt, or of the end. */
  readonly error?: ErrorRecord;
  readonly createdAt: number;
  /** Start of the first attempt. */
  readonly startedAt?: number;
  /** Start of the newest attempt. */
  readonly attemptStartedAt?: number;
  readonly endedAt?: number;
  /** Why the result is only a part of what was asked; the rest is another task's. */
  readonly partial?: string;
}

export interface WorkResult {
  /** Set when only a part was done; says why. */
  readonly partial?: string;
  /** Admitted in the transaction that ends this task. */
  readonly followUp?: { readonly kind: TaskKind; readonly reason: string };
  /** True when no commit was made. */
  readonly rewroteNothing: boolean;
  readonly versionBefore: number;
  readonly versionAfter: number;
  /** What could not be done while the rest was: kept with the kind's health, so that `status` names it. */
  readonly problems?: readonly Problem[];
  readonly metrics: Readonly<Record<string, number>>;
  /** Required for kind Compact: its metrics exist if and only if it is done. */
  readonly compaction?: CompactionMetrics;
  readonly proof: Readonly<Record<string, unknown>>;
}

/** One part of a table that an attempt had to leave as it was. */
export interface Problem extends ErrorRecord {
  /** What it is about: the name of an index. */
  readonly subject: string;
}

export interface CompactionMetrics {
  readonly fragmentsRemoved: number;
  readonly fragmentsAdded: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly durationMs: number;
  readonly versionBefore: number;
  readonly versionAfter: number;
  readonly strategy: 'optimize' | 'bounded' | 'none';
  /** False when the table has no key that an index could stand on: no IndexId follows then. */
  readonly indexable?: boolean;
}

/** How one kind fares on one target. Only a settle (or the end of a lost attempt) writes it. */
export interface Health {
  readonly kind: TaskKind;
  readonly target: string;
  /** Failures in a row; a success makes it 0. */
  readonly streak: number;
  /** No attempt starts before this time unless it is forced. */
  readonly cooldownUntil?: number;
  readonly lastSuccess?: {
    readonly at: number;
    readonly taskId: string;
    readonly versionBefore: number;
    readonly versionAfter: number;
    readonly rewroteNothing: boolean;
    readonly problems?: readonly Problem[];
  };
  readonly lastFailure?: { readonly at: number; readonly taskId: string; readonly error: ErrorRecord };
}

export interface FenceOptions {
  /** Also when the time is up or the process shuts down. */
  readonly whileStopping?: boolean;
}

/** What the work of one attempt gets. */
export interface AttemptContext {
  readonly task: Task;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts when the lease is lost, the time is up or the process shuts down; the reason is an UpkeepError. */
  readonly signal: AbortSignal;
  /** Milliseconds to the deadline less the 30 s kept for the settle; Infinity where there is no deadline. */
  remainingMs(): number;
  /**
   * Call before every commit: renews the lease by a write. Throws LEASE_LOST (contention) when it is another's, and the
   * signal's reason once it has aborted. With `whileStopping` only a lost lease stops it: for the one commit that takes
   * back what the attempt left in the table.
   */
  fence(options?: FenceOptions): Promise<void>;
  /** Tables `current` if this is the task's first attempt; answers the base version of the first attempt. */
  baseVersion(current: number): Promise<number>;
  /** Runs a native call that the hard exit must know of. Starts nothing once the signal has aborted. */
  native<T>(run: () => Promise<T>): Promise<T>;
  /** One line for whoever watches. */
  progress(line: string): void;
}

/** Does the work of a task. Throws an UpkeepError, or anything: then it counts as a failure `UNEXPECTED`. */
export type Perform = (context: AttemptContext) => Promise<WorkResult>;

/** True for `done` and `failed`. */
export function hasEnded(state: TaskState): boolean {
  return state === 'done' || state === 'failed';
}

/** How many tasks of each kind may run at the same time, over all tables. */
export interface ConcurrencyCaps {
  readonly compactConcurrency: number;
  readonly indexIdConcurrency: number;
  readonly mergeWalConcurrency: number;
  readonly optimizeIndicesConcurrency: number;
  readonly pruneConcurrency: number;
}

const CAPS: Readonly<Record<TaskKind, keyof ConcurrencyCaps>> = {
  Compact: 'compactConcurrency',
  IndexId: 'indexIdConcurrency',
  MergeWal: 'mergeWalConcurrency',
  OptimizeIndices: 'optimizeIndicesConcurrency',
  Prune: 'pruneConcurrency',
};

/** The one place that says which setting caps a queue: for the messages of recover and for the functions of a deployment. */
export function concurrencyCap(kind: TaskKind, settings: ConcurrencyCaps): number {
  return settings[CAPS[kind]];
}
