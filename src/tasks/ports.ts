import type { TaskKind } from './task.ts';

/** Time as the lifecycle sees it; tests use a double. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Milliseconds that never jump; only differences mean anything. */
  monotonic(): number;
  /** Runs once after `delayMs`; answers a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** A string set is never stored empty: taking its last member removes the attribute. */
export type AttributeValue = string | number | boolean | readonly string[] | ReadonlySet<string>;

export type Attributes = Readonly<Record<string, AttributeValue>>;

export interface Item extends ItemKey {
  readonly attributes: Attributes;
}

/** Every list of conditions is a conjunction. A test of an attribute that is absent is false (except `lacks`). */
export type Condition =
  | { readonly test: 'exists' }
  | { readonly test: 'absent' }
  | { readonly test: 'equals'; readonly attribute: string; readonly value: string | number | boolean }
  | { readonly test: 'less'; readonly attribute: string; readonly value: number }
  | { readonly test: 'has'; readonly attribute: string }
  | { readonly test: 'lacks'; readonly attribute: string }
  | { readonly test: 'contains'; readonly attribute: string; readonly value: string }
  | { readonly test: 'size'; readonly attribute: string; readonly value: number }
  | { readonly test: 'any'; readonly of: readonly Condition[] };

/** One write of a transaction. No two writes of a transaction name the same key. `update` creates a missing item. */
export type Write =
  | { readonly kind: 'put'; readonly item: Item; readonly when: readonly Condition[] }
  | {
      readonly kind: 'update';
      readonly key: ItemKey;
      readonly set?: Attributes;
      readonly remove?: readonly string[];
      /** Adds members to string sets. */
      readonly add?: Readonly<Record<string, readonly string[]>>;
      /** Takes members out of string sets. */
      readonly take?: Readonly<Record<string, readonly string[]>>;
      readonly when: readonly Condition[];
    }
  | { readonly kind: 'delete'; readonly key: ItemKey; readonly when: readonly Condition[] }
  | { readonly kind: 'check'; readonly key: ItemKey; readonly when: readonly Condition[] };

/** At most this many writes make one transaction. */
export const MAX_WRITES = 100;

/** At most this many keys are read by one call. */
export const MAX_KEYS = 100;

/** `refused` lists the writes whose condition was false, with the item as it was (undefined: absent). */
export type TransactResult =
  | { readonly written: true }
  | {
      readonly written: false;
      readonly refused: readonly { readonly index: number; readonly old: Item | undefined }[];
    };

/**
 * The sparse indexes. An item is in an index when it has both attributes; a partition is `<shard>` or
 * `<kind>#<shard>` with shards 0 to 7, or the target for `target-tasks`.
 */
export const INDEXES = {
  leases: { partition: 'leaseShard', sort: 'expiresAt', project: [] },
  queued: { partition: 'queuedShard', sort: 'wakeAt', project: ['kind', 'target'] },
  waiting: { partition: 'waitingShard', sort: 'recheckAt', project: [] },
  unnotified: { partition: 'unnotifiedShard', sort: 'endedAt', project: [] },
  recent: { partition: 'recentShard', sort: 'recentSort', project: ['kind', 'target'] },
  'target-tasks': { partition: 'target', sort: 'recentSort', project: ['kind'] },
  needs: { partition: 'needShard', sort: 'needSort', project: ['target'] },
} as const satisfies Record<string, { partition: string; sort: string; project: readonly string[] }>;

export type IndexName = keyof typeof INDEXES;

export const SHARDS = 8;

export interface IndexQuery {
  readonly index: IndexName;
  readonly partition: string;
  /** Inclusive. */
  readonly from?: string | number;
  /** Inclusive. */
  readonly to?: string | number;
  /** Exclusive upper bound, for paging downwards by the sort value itself. */
  readonly before?: string;
  readonly order: 'ascending' | 'descending';
  readonly limit: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Give it back as `after`; absent on the last page. */
  readonly next?: string;
}

/**
 * The durable record of tasks, leases and facts, shaped like one DynamoDB table.
 * `get`, `getMany` and `query` are consistent; `queryIndex` is a hint that may be stale in both directions.
 * An adapter repeats conflicts between transactions itself, with jitter and the same client token; it throws
 * LEDGER_UNAVAILABLE (contention) when it cannot tell whether the write was done.
 */
export interface Ledger {
  get(key: ItemKey): Promise<Item | undefined>;
  /** At most 100 keys; the answer is in the order of the keys. */
  getMany(keys: readonly ItemKey[]): Promise<readonly (Item | undefined)[]>;
  /** Items of one partition whose sk begins with the prefix, in sk order. */
  query(query: {
    readonly pk: string;
    readonly skPrefix: string;
    readonly limit: number;
    readonly after?: string;
    readonly order?: 'ascending' | 'descending';
  }): Promise<Page<Item>>;
  /** Items hold the key, the index attributes and the projected attributes only. */
  queryIndex(query: IndexQuery): Promise<readonly Item[]>;
  /** All or nothing. The same client token with the same writes within 10 minutes is answered as written, not repeated. */
  transact(writes: readonly Write[], options: { readonly clientToken: string }): Promise<TransactResult>;
}

/** Epoch seconds after which an item may be removed by the ledger itself. */
export const TTL_ATTRIBUTE = 'removeAfter';

/** One change of one item. It names the key to read; the images only avoid useless reads. */
export interface ChangeRecord {
  readonly key: ItemKey;
  readonly change: 'insert' | 'modify' | 'remove';
  /** The ledger removed the item since its time to live was over. */
  readonly expired: boolean;
  readonly before?: Item;
  readonly after?: Item;
}

/** Changes in order, at least once. A record that was read and not marked handled is read again. */
export interface ChangeFeed {
  read(limit: number): Promise<{ readonly records: readonly SequencedRecord[] }>;
  /** Moves the cursor behind `sequence`; call it after the handling. */
  handled(sequence: number): Promise<void>;
}

export interface SequencedRecord extends ChangeRecord {
  readonly sequence: number;
}

/** The sending side of the queues; what the lifecycle needs. */
export interface TaskQueue {
  /** Delay in milliseconds, at most 900,000. */
  send(message: { readonly kind: TaskKind; readonly body: string; readonly delayMs?: number }): Promise<void>;
  /** Puts the untouched body in the queue's dead-letter queue, with code and message as attributes. */
  deadLetter(deadLetter: {
    readonly kind: TaskKind;
    readonly body: string;
    readonly messageId: string;
    readonly code: string;
    readonly message: string;
  }): Promise<void>;
  /** About how many messages of the queue could be received now. */
  visible(kind: TaskKind): Promise<number>;
}

/** A message that could never become a task, with the reason. */
export interface DeadLetter {
  /** Of the message as it first came. */
  readonly messageId: string;
  readonly kind: TaskKind;
  readonly body: string;
  readonly code: string;
  readonly message: string;
  /** Epoch milliseconds. */
  readonly deadAt: number;
}

/** If a dead letter cannot be removed after its message was sent, it stays. Both have one task id, so they are one task. */
export type RedriveOutcome = 'sent' | 'sent, dead letter stays' | 'not found';

/** The dead letters of every queue; what an operator needs. Errors of all calls: QUEUE_UNAVAILABLE, LEDGER_UNAVAILABLE (contention). */
export interface DeadLetterQueue {
  /** The newest first, at most `limit`. */
  deadLetters(kind: TaskKind, limit: number): Promise<readonly DeadLetter[]>;
  /** Sends a dead letter to its queue again under the id of its original message. */
  redrive(kind: TaskKind, messageId: string): Promise<RedriveOutcome>;
  /** Removes a dead letter for good; false when there is none of that id. */
  deleteDeadLetter(kind: TaskKind, messageId: string): Promise<boolean>;
}

/** A message as it reached a queue. `sentAt` is when it was first sent, epoch milliseconds. */
export interface Delivery {
  readonly body: string;
  readonly messageId: string;
  readonly receiveCount: number;
  readonly kind: TaskKind;
  readonly sentAt: number;
}
