import type { ErrorRecord } from '../errors.ts';

/** What a task does. Each kind has a queue of its own, with its own concurrency. */
export const TASK_KINDS = ['Compact', 'IndexId', 'MergeWal', 'OptimizeIndices', 'Prune'] as const;

export type TaskKind = (typeof TASK_KINDS)[number];

/** Ids have 1 to MAX_ID_LENGTH printable ASCII characters, without spaces. */
export const MAX_ID_LENGTH = 200;

/** `waiting` (a dependency is not done) -> `queued` -> `running` -> `done` | `failed`; a retry goes back to `queued`. */
export type TaskState = 'waiting' | 'queued' | 'running' | 'done' | 'failed';

/** A request for work. Requests of the same kind and target join one task. */
export interface TaskRequest {
  /** Names the request: the same id twice is the same request. Without an id, a repeated request is a new one. */
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
  /** Why only a part was done. The rest belongs to another task. */
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
  /** What could not be done while the rest was. Kept with the kind's health, so `status` shows it. */
  readonly problems?: readonly Problem[];
  readonly metrics: Readonly<Record<string, number>>;
  /** Required for kind Compact: its metrics exist if and only if it is done. */
  readonly compaction?: CompactionMetrics;
  readonly proof: Readonly<Record<string, unknown>>;
}

/** One part of a table that an attempt could not change. */
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
  /** False when the table has no key that can be indexed. No IndexId follows then. */
  readonly indexable?: boolean;
}

/** The health of one kind on one target. Only a settle, or the end of a lost attempt, writes it. */
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

/** The input of one attempt's work. */
export interface AttemptContext {
  readonly task: Task;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts when the lease is lost, the time is up or the process shuts down; the reason is an UpkeepError. */
  readonly signal: AbortSignal;
  /** Milliseconds to the deadline less the 30 s kept for the settle; Infinity where there is no deadline. */
  remainingMs(): number;
  /**
   * Call before every commit. Renews the lease by a write. Throws LEASE_LOST (contention) when another holder has it, and the
   * signal's reason once it has aborted. With `whileStopping` only a lost lease stops it: for the one commit that removes
   * what the attempt left in the table.
   */
  fence(options?: FenceOptions): Promise<void>;
  /** Stores `current` if this is the task's first attempt, and returns the base version of the first attempt. */
  baseVersion(current: number): Promise<number>;
  /** Runs a native call. The hard exit waits for none of them. Starts nothing once the signal has aborted. */
  native<T>(run: () => Promise<T>): Promise<T>;
  /** One line of progress. */
  progress(line: string): void;
}

/** Does the work of a task. Throws an UpkeepError; any other error counts as the failure `UNEXPECTED`. */
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

/** Which setting caps each kind. Used for the messages of recover and for the functions of a deployment. */
export function concurrencyCap(kind: TaskKind, settings: ConcurrencyCaps): number {
  return settings[CAPS[kind]];
}
