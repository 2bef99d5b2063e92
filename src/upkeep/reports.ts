import type { ErrorRecord } from '../errors.ts';
import type { RuleResult } from '../fleet/demand.ts';
import type { TableFacts } from '../fleet/facts.ts';
import type { PlannedRequest } from '../fleet/plan.ts';
import type { TaskKind, TaskState, WorkResult } from '../tasks/task.ts';

/** The JSON shapes below carry this number; it grows when a field changes its meaning or goes away. */
export const SCHEMA_VERSION = 1;

export interface InspectReport {
  readonly schemaVersion: number;
  readonly target: string;
  readonly version: number;
  /** Live rows of the base table; rows that wait in the MemWAL are in `wal`. */
  readonly rows: number;
  readonly fragments: number;
  readonly smallFragments: number;
  readonly bytes: number;
  readonly keyColumn: string | null;
  readonly keyIndex: {
    readonly name: string;
    readonly kind: string;
    readonly coveredFragments: number;
    readonly uncoveredFragments: number;
    readonly unindexedRows: number;
    /** True when the manifest names it and its files are gone: it covers nothing then. */
    readonly filesMissing: boolean;
  } | null;
  /** Every index that queries use, the key's own too. */
  readonly indexes: readonly {
    readonly name: string;
    readonly kind: string;
    readonly columns: readonly string[];
    readonly segments: number;
    readonly rowsOutside: number;
    /** 0 to 1, of the table's rows. */
    readonly shareOutside: number;
    readonly uncoveredFragments: number;
    readonly filesMissing: boolean;
    /** ISO-8601; null when no row is outside. */
    readonly outsideSince: string | null;
    readonly bytes: number;
    readonly generationsBehind: number;
  }[];
  /** A hold that keeps compaction off fragments; null when there is none. */
  readonly hold: { readonly since: string; readonly heldFragments: number } | null;
  readonly wal: {
    readonly shards: readonly {
      readonly shardId: string;
      readonly watermark: number;
      readonly pendingGenerations: number;
      readonly pendingRows: number;
      readonly pendingBytes: number;
      /** ISO-8601; null when nothing is pending. */
      readonly oldestPending: string | null;
    }[];
  } | null;
  /** Null when they were not counted: a table that must not be written. */
  readonly versions: {
    readonly count: number;
    /** How many may go by the rules of retention. */
    readonly prunable: number;
    /** What pruning those would free at least. */
    readonly prunableBytes: number;
    /** ISO-8601. */
    readonly oldest: string;
    readonly retentionMs: number;
    /** ISO-8601. */
    readonly countedAt: string;
    /** Why a prune would be refused; null when it would not. */
    readonly refused: string | null;
  } | null;
  /** What is wrong with the table as it was read: damage, lost files, a feature that is not supported. */
  readonly error: ErrorRecord | null;
}

/** One task as operators see it. Times are ISO-8601 UTC. */
export interface TaskReport {
  readonly id: string;
  readonly kind: TaskKind;
  readonly target: string;
  readonly state: TaskState;
  readonly reasons: readonly string[];
  readonly dependsOn: readonly string[];
  readonly attempts: number;
  readonly result: WorkResult | null;
  readonly error: ErrorRecord | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** When a queued task may run at the earliest, if it has to wait. */
  readonly notBefore: string | null;
}

/** What looks like a table under the roots and is not maintained, each with the reason. */
export type LeftOut = readonly { readonly target: string; readonly error: ErrorRecord }[];

export interface RunReport {
  readonly schemaVersion: number;
  readonly tasks: readonly TaskReport[];
  readonly tables: readonly InspectReport[];
  /** Tables that could not be read at the end, with the reason. */
  readonly unreadable: readonly { readonly target: string; readonly error: ErrorRecord }[];
  readonly leftOut: LeftOut;
}

/** What begins nothing new, with who wanted that and why. */
export interface PauseReport {
  /** Null: everything. */
  readonly scope: string | null;
  readonly by: string;
  readonly reason: string;
  /** ISO-8601 UTC. */
  readonly since: string;
}

export interface StatusReport {
  readonly schemaVersion: number;
  readonly pauses: readonly PauseReport[];
  /** Worst first. */
  readonly tables: readonly {
    readonly target: string;
    readonly facts: TableFacts | null;
    readonly openTasks: readonly TaskReport[];
    /** Answers "why is it not running?", one message each. */
    readonly reasons: readonly string[];
    readonly attention: boolean;
  }[];
  /** Under the roots that are known here. */
  readonly leftOut: LeftOut;
}

export interface ExplainReport {
  readonly schemaVersion: number;
  readonly target: string;
  readonly facts: TableFacts;
  readonly rules: readonly RuleResult[];
  readonly plan: readonly PlannedRequest[];
  readonly openTasks: readonly TaskReport[];
  readonly reasons: readonly string[];
}

export interface SendReport {
  readonly schemaVersion: number;
  readonly taskId: string;
  /** True when the request joined a task that was there already. */
  readonly joined: boolean;
  /** The task as it stands when the command returns: after its end with `--wait`. */
  readonly task: TaskReport;
}

export interface HistoryReport {
  readonly schemaVersion: number;
  readonly tasks: readonly TaskReport[];
  /** Give it back as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

export interface ProgressEvent {
  readonly at: number;
  readonly stage:
    | 'sweep'
    | 'admitted'
    | 'started'
    | 'progress'
    | 'done'
    | 'retry'
    | 'failed'
    | 'waiting'
    | 'dead-letter';
  readonly message: string;
  readonly target?: string;
  readonly kind?: TaskKind;
  readonly taskId?: string;
  readonly code?: string;
  /** Fencing token of the attempt. */
  readonly token?: number;
  /** Of a dead letter. */
  readonly messageId?: string;
}

export interface DeadLetterReport {
  readonly schemaVersion: number;
  readonly deadLetters: readonly {
    /** Of the message as it first came. */
    readonly messageId: string;
    readonly queue: TaskKind;
    readonly code: string;
    readonly message: string;
    readonly body: string;
    readonly deadAt: string;
  }[];
}

/** What a Prune would delete. Sizes in bytes. */
export interface PrunePreview {
  readonly schemaVersion: number;
  readonly target: string;
  /** The newest version. */
  readonly version: number;
  readonly versions: number;
  readonly prunableVersions: number;
  /** How many versions stay, by the first reason that holds for each. */
  readonly retained: Readonly<Record<string, number>>;
  readonly retentionMs: number;
  /** Whose word that is: the table's own config or VERSION_RETENTION. */
  readonly retentionOf: 'table' | 'settings';
  /** Without manifests. */
  readonly files: number;
  /** With manifests. */
  readonly bytes: number;
  readonly classes: Readonly<Record<string, { readonly files: number; readonly bytes: number }>>;
  /** Of `files`, those that no manifest ever named. */
  readonly orphans: number;
  /** Files that no manifest names and that stay because a commit may still be under way. */
  readonly orphansTooYoung: number;
  /** Keys below the table. */
  readonly plan: { readonly manifests: readonly string[]; readonly files: readonly string[] };
}

export interface SendRequest {
  readonly kind: TaskKind;
  readonly target: string;
  readonly dependsOn: readonly string[];
  readonly force: boolean;
}
