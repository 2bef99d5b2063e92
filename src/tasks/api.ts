import type { ErrorRecord } from '../errors.ts';
import type { Pause } from './pause.ts';
import type { ChangeRecord, Clock, Ledger, TaskQueue } from './ports.ts';
import type { ConcurrencyCaps, Health, Task, TaskKind, TaskRequest, TaskState, WorkResult } from './task.ts';

/** The settings the lifecycle needs; units in the names. */
export interface LifecycleSettings extends ConcurrencyCaps {
  readonly taskCooldownAfterFailures: number;
  readonly taskHistoryMs: number;
  readonly indexAfterCompaction: boolean;
}

export interface LifecycleOptions {
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly clock: Clock;
  readonly settings: LifecycleSettings;
  /** 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** A new unique id, at most 36 characters of [A-Za-z0-9-]: it also serves as a client token. */
  readonly newId: () => string;
  /** True when the process behind a lease's holder is known to be gone. Only one machine can know that. */
  readonly holderGone?: (holder: string) => boolean;
  /** Called at least once for each task that ends as done or failed, after the end is written. */
  readonly onEnded?: (task: Task) => void;
}

export interface Admission {
  readonly taskId: string;
  readonly task: Task;
  /** True when the request is part of another request's task. */
  readonly joined: boolean;
}

/** The right to run one attempt. */
export interface Claim {
  readonly task: Task;
  readonly claimId: string;
  /** Fencing token; grows with every holder of the target. */
  readonly token: number;
  /** On the holder's monotonic clock, measured from before the claim was sent. */
  readonly leaseEndsAt: number;
}

export type ClaimOutcome =
  | { readonly outcome: 'claimed'; readonly claim: Claim; readonly adopted: boolean }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'finished'; readonly state: TaskState }
  | { readonly outcome: 'waiting' }
  | { readonly outcome: 'cooling'; readonly until: number }
  | { readonly outcome: 'busy'; readonly reason: string }
  | { readonly outcome: 'paused'; readonly reason: string };

/** How an attempt ended. `released`: stopped from outside, back to queued at once, not counted. */
export type AttemptEnd =
  | { readonly end: 'done'; readonly result: WorkResult }
  | { readonly end: 'error'; readonly error: ErrorRecord }
  | { readonly end: 'released'; readonly error: ErrorRecord };

export interface Settlement {
  /** The task's state after the settle. */
  readonly state: TaskState;
  readonly notBefore?: number;
  /** True when an earlier settle of the same claim had been written and only its answer was lost. */
  readonly adopted: boolean;
  readonly followUpId?: string;
}

export interface StoredFacts {
  readonly target: string;
  readonly observedAt: number;
  readonly facts: unknown;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Give it back as `after`; null on the last page. */
  readonly next: string | null;
}

export interface RecoverReport {
  readonly endedAttempts: number;
  readonly woken: number;
  readonly rechecked: number;
  readonly notified: number;
  /** Items that could not be handled this time; they stay due. */
  readonly errors: readonly ErrorRecord[];
}

/** The task lifecycle over a ledger: every rule of docs/ledger.md, once. */
export interface Lifecycle {
  /**
   * Admits a request: a new task, or joined to an open one of its kind and target.
   * Errors: TASK_ID_MISMATCH, DEPENDENCY_FAILED, DEPENDENCY_CYCLE, DEPENDENCIES_TOO_MANY (permanent),
   * DEPENDENCY_UNKNOWN, LEDGER_BUSY (contention).
   */
  admit(request: TaskRequest): Promise<Admission>;
  /** Takes the target's lease for one attempt. The same claimId adopts a claim whose answer was lost. */
  claim(request: { readonly taskId: string; readonly claimId: string; readonly holder: string }): Promise<ClaimOutcome>;
  /** Renews the lease by one write; answers the new end on the monotonic clock. Throws LEASE_LOST. */
  renew(claim: Claim): Promise<number>;
  /** Stores `current` for the first attempt and returns the base version of the first attempt. Throws LEASE_LOST. */
  baseVersion(claim: Claim, current: number): Promise<number>;
  /** Ends the attempt in one transaction. Throws LEASE_LOST when the attempt is no longer this claim's. */
  settle(claim: Claim, end: AttemptEnd): Promise<Settlement>;
  /** Acts on one change of the ledger; any record may come late, twice or alone. */
  onRecord(record: ChangeRecord): Promise<void>;
  /** Repairs whatever a lost message, record or process left behind. Call it every minute. */
  recover(): Promise<RecoverReport>;

  /** Nothing in the scope starts from now on. Running tasks finish. */
  pause(pause: Pause): Promise<void>;
  /** False when that very scope was not paused. */
  resume(scope: string): Promise<boolean>;
  pauses(): Promise<readonly Pause[]>;

  /** Sends a wake-up for the task on its own queue. */
  wake(task: Task): Promise<void>;
  /** By task id or by the id of a request that joined it. */
  getTask(id: string): Promise<Task | undefined>;
  /** Open tasks of one target, at most two a kind. */
  openTasks(target: string): Promise<readonly Task[]>;
  /** Newest first by creation, at a cost that does not depend on how many there are. */
  listTasks(page: { readonly target?: string; readonly limit: number; readonly after?: string }): Promise<TaskPage>;
  health(target: string): Promise<Readonly<Record<TaskKind, Health>>>;
  /** Who holds the target's lease, if anybody. */
  leaseOf(
    target: string,
  ): Promise<
    { readonly taskId: string; readonly kind: TaskKind; readonly expiresAt: number; readonly token: number } | undefined
  >;

  /** Keeps the facts unless newer ones are there; false then. `need` orders `listFacts`, greatest first. */
  putFacts(facts: StoredFacts & { readonly need: number }): Promise<boolean>;
  getFacts(target: string): Promise<StoredFacts | undefined>;
  /** Drops the facts of a table that is gone, if they are still those of `observedAt`; false otherwise. */
  forgetFacts(target: string, observedAt: number): Promise<boolean>;
  listFacts(page: { readonly limit: number; readonly after?: string }): Promise<{
    readonly facts: readonly StoredFacts[];
    readonly next: string | null;
  }>;
}
