import type { Settings } from '../config.ts';
import type { Health, TaskKind } from '../tasks/task.ts';

export type DemandRule =
  | 'fragments-small'
  | 'deleted-share'
  | 'key-index-missing'
  | 'key-index-wrong-kind'
  | 'key-index-uncovered'
  | 'index-rows'
  | 'index-share'
  | 'index-tail'
  | 'index-catch-up'
  | 'hold-left'
  | 'wal-pending'
  | 'wal-bytes'
  | 'wal-tail'
  | 'wal-garbage'
  | 'versions-count'
  | 'versions-bytes'
  | 'versions-age';

/** What one rule says about one table. `due` when the rule asks for a task of `kind`; `reason` is a whole sentence either way. */
export interface RuleResult {
  readonly rule: DemandRule;
  readonly kind: TaskKind;
  readonly threshold: number;
  readonly value: number;
  readonly unit:
    | 'fragments'
    | 'share'
    | 'indexes'
    | 'rows'
    | 'generations'
    | 'bytes'
    | 'shards'
    | 'versions'
    | 'seconds';
  readonly due: boolean;
  readonly reason: string;
}

/**
 * Which rules a sweep applies: `compaction` those of Compact, IndexId and OptimizeIndices, `merge` those of MergeWal, `tails` those of
 * MergeWal and OptimizeIndices with every pending generation and every row outside of an index due, and those of Prune, `all`
 * everything at once.
 */
export type SweepKind = 'compaction' | 'merge' | 'tails' | 'all';

export type DemandSettings = Pick<
  Settings,
  | 'minFragments'
  | 'mergeWalMinGenerations'
  | 'mergeMaxBytes'
  | 'mergeWalTailIntervalMs'
  | 'generationRetentionMs'
  | 'indexMaxRowsOutside'
  | 'indexMaxPercentOutside'
  | 'indexTailIntervalMs'
  | 'pruneMinVersions'
  | 'pruneMinBytes'
  | 'pruneIntervalMs'
>;

export interface DemandInput {
  readonly settings: DemandSettings;
  readonly health: Readonly<Partial<Record<TaskKind, Health>>>;
  readonly now: number;
  /** Left out, every rule is applied, and tails are due by their age: what explain shows. */
  readonly sweep?: SweepKind;
}
