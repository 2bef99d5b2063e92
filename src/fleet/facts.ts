import type { ErrorRecord } from '../errors.ts';

/** What one observation of a table read. Times in epoch milliseconds, sizes in bytes. */
export interface TableFacts {
  readonly target: string;
  /** When the table was looked at; with `numbersFrom`, when that was tried in vain. */
  readonly observedAt: number;
  /** Set when the last look failed: the numbers are those of this earlier time, and `error` says why. */
  readonly numbersFrom?: number;
  readonly version: number;
  readonly versionTimestamp: number;
  /** Live rows of the base table; rows that wait in the MemWAL are in `wal`. */
  readonly rows: number;
  /** Rows in the data files, deleted ones included. */
  readonly physicalRows: number;
  readonly deletedRows: number;
  readonly fragments: number;
  /** Below 3/4 of the target size and below 1,048,576 rows. */
  readonly smallFragments: number;
  /** Small fragments, and those with over 10 % of their rows deleted, that a compaction would really rewrite. */
  readonly compactableFragments: number;
  /** Fragments that need a rewrite, but are too large for COMPACT_MAX_BYTES. */
  readonly tooLargeFragments: number;
  /** Data files of the newest version. */
  readonly bytes: number;
  /** Null when the table has no column that could be the key. */
  readonly keyColumn: string | null;
  /** The key column's type, when no BTree can stand on it: then none is asked for. */
  readonly keyTypeWithoutIndex?: string;
  readonly keyIndex: KeyIndexFacts | null;
  /** Every index that queries use, the key's own too, in order of their names. */
  readonly indexes: readonly IndexFacts[];
  /** The hold that keeps compaction off fragments; null when there is none. One without a running task was left behind. */
  readonly hold: { readonly createdAt: number; readonly heldFragments: number } | null;
  /** Null when the table has no MemWAL. */
  readonly wal: { readonly shards: readonly ShardFacts[] } | null;
  /** When it was looked whether the files of the indexes are there. */
  readonly filesCheckedAt?: number;
  /** Undefined until they were counted for the first time. */
  readonly versions?: VersionFacts;
  readonly error?: ErrorRecord;
}

/** The versions of a table as they were counted last, which is not at every look. */
export interface VersionFacts {
  readonly count: number;
  /** How many the rules of retention let go. */
  readonly prunable: number;
  /** What pruning would free at least: a sample of old manifests tells. */
  readonly prunableBytes: number;
  /** When the oldest version was committed, by the object store's clock. */
  readonly oldest: number;
  /** The same of the oldest version that may go. */
  readonly oldestPrunable: number | null;
  /** When one more may go without any commit. */
  readonly nextPrunableAt: number | null;
  /** Of this table: its own config wins over the settings. Milliseconds. */
  readonly retentionMs: number;
  readonly measuredAt: number;
  readonly measuredVersion: number;
  /** Why a prune of this table would be refused. */
  readonly refused?: string;
}

export interface KeyIndexFacts {
  readonly name: string;
  readonly kind: string;
  /** True for a BTree on exactly the key column. */
  readonly exact: boolean;
  readonly coveredFragments: number;
  readonly uncoveredFragments: number;
  readonly unindexedRows: number;
  /** Set when the manifest names it and its files are gone: it covers nothing then. */
  readonly filesMissing?: true;
}

export interface IndexFacts {
  readonly name: string;
  /** As in the manifest: `BTree`, `Bitmap`, `LabelList`, `Inverted`, `Vector`, ... */
  readonly kind: string;
  readonly columns: readonly string[];
  readonly segments: number;
  /** Live rows in fragments that it does not cover. */
  readonly rowsOutside: number;
  readonly uncoveredFragments: number;
  /** The lowest id among those fragments that hold rows: how the next look knows whether they are still the same. Null without any. */
  readonly firstFragmentOutside: number | null;
  /** Since when that fragment is known to be outside; it may be older. Null when no row is outside. */
  readonly outsideSince: number | null;
  /** Size of its files. */
  readonly bytes: number;
  /** Merged generations that readers still need, since this index has not caught up with them. */
  readonly generationsBehind: number;
  /** Set when the manifest names it and its files are gone. */
  readonly filesMissing?: true;
}

export interface ShardFacts {
  readonly shardId: string;
  /** The highest merged generation; 0 when none is. */
  readonly watermark: number;
  readonly pendingGenerations: number;
  /** Rows of the pending generations as written: a key that occurs in two of them counts twice. */
  readonly pendingRows: number;
  readonly pendingBytes: number;
  /** When the oldest pending generation was flushed. Null when none is pending or its directory is gone. */
  readonly oldestPending: number | null;
  /** Generations at or below the watermark that the shard manifest still lists. */
  readonly mergedGenerations: number;
  /** Some of those are past their retention: their directories and entries can go. */
  readonly garbageDue: boolean;
  /** The first pending generation whose directory is gone; it holds up all later ones. */
  readonly missingGeneration: number | null;
  /** That one and the pending ones after it; 0 when none is missing. */
  readonly blockedGenerations: number;
}
