/** Every setting, parsed once. Times in milliseconds, sizes in bytes, the rest counts. */
export interface Settings {
  readonly roots: readonly string[];
  readonly indexAfterCompaction: boolean;
  readonly indexBeforeMerge: boolean;
  readonly compactConcurrency: number;
  readonly indexIdConcurrency: number;
  readonly mergeWalConcurrency: number;
  readonly optimizeIndicesConcurrency: number;
  readonly pruneConcurrency: number;
  readonly minFragments: number;
  readonly mergeWalMinGenerations: number;
  readonly mergeMaxGenerations: number;
  readonly mergeMaxBytes: number;
  readonly mergeSliceBytes: number;
  readonly generationRetentionMs: number;
  readonly compactMaxBytes: number;
  readonly compactMaxSourceFragments: number;
  readonly targetFragmentBytes: number;
  readonly indexMaxRowsOutside: number;
  readonly indexMaxPercentOutside: number;
  readonly indexTailIntervalMs: number;
  readonly versionRetentionMs: number;
  readonly pruneKeepVersions: number;
  readonly pruneMinVersions: number;
  readonly pruneMinBytes: number;
  readonly pruneIntervalMs: number;
  readonly compactionIntervalMs: number;
  readonly mergeWalIntervalMs: number;
  readonly mergeWalTailIntervalMs: number;
  readonly taskCooldownAfterFailures: number;
  readonly taskHistoryMs: number;
}

/** How the text of a setting is written: `true`/`false`, a whole number of the unit, or a comma-separated list. */
export type SettingUnit = 'true or false' | 'list' | 'count' | 'bytes' | 'seconds' | 'days';

export interface SettingDefinition {
  /** The name in the environment. */
  readonly name: string;
  readonly property: keyof Settings;
  readonly unit: SettingUnit;
  /** As it would be written in the environment. */
  readonly default: string;
  /** The smallest number allowed; numbers only. */
  readonly least?: number;
  readonly meaning: string;
}

/** The one list of settings: parsing, the check for typos and docs/settings.md all come from it. */
export const settingDefinitions: readonly SettingDefinition[] = [
  {
    name: 'UPKEEP_ROOTS',
    property: 'roots',
    unit: 'list',
    default: '',
    meaning:
      'Database directories or S3 prefixes to maintain, separated by commas. Roots given on the command line win.',
  },
  {
    name: 'INDEX_AFTER_COMPACTION',
    property: 'indexAfterCompaction',
    unit: 'true or false',
    default: 'true',
    meaning: 'A compaction that added fragments is followed by one IndexId task that depends on it.',
  },
  {
    name: 'INDEX_BEFORE_MERGE',
    property: 'indexBeforeMerge',
    unit: 'true or false',
    default: 'true',
    meaning: 'A merge builds the BTree on the key column first when it is missing or of another kind.',
  },
  {
    name: 'MERGE_WAL_CONCURRENCY',
    property: 'mergeWalConcurrency',
    unit: 'count',
    default: '4',
    least: 1,
    meaning: 'Merges that run at the same time, over all tables.',
  },
  {
    name: 'COMPACT_CONCURRENCY',
    property: 'compactConcurrency',
    unit: 'count',
    default: '10',
    least: 1,
    meaning: 'Compactions that run at the same time on AWS, over all tables.',
  },
  {
    name: 'INDEX_ID_CONCURRENCY',
    property: 'indexIdConcurrency',
    unit: 'count',
    default: '10',
    least: 1,
    meaning: 'Builds of key indexes that run at the same time on AWS, over all tables.',
  },
  {
    name: 'OPTIMIZE_INDICES_CONCURRENCY',
    property: 'optimizeIndicesConcurrency',
    unit: 'count',
    default: '4',
    least: 1,
    meaning: 'Extensions of indexes that run at the same time on AWS, over all tables.',
  },
  {
    name: 'PRUNE_CONCURRENCY',
    property: 'pruneConcurrency',
    unit: 'count',
    default: '2',
    least: 1,
    meaning: 'Prunings of versions that run at the same time on AWS, over all tables.',
  },
  {
    name: 'MIN_FRAGMENTS',
    property: 'minFragments',
    unit: 'count',
    default: '16',
    least: 1,
    meaning: 'A table is compacted from this many fragments that a compaction would really rewrite.',
  },
  {
    name: 'MERGE_WAL_MIN_GENERATIONS',
    property: 'mergeWalMinGenerations',
    unit: 'count',
    default: '8',
    least: 1,
    meaning: 'A merge is due from this many pending generations, over all shards of a table.',
  },
  {
    name: 'MERGE_MAX_GENERATIONS',
    property: 'mergeMaxGenerations',
    unit: 'count',
    default: '8',
    least: 1,
    meaning: 'Generations of one shard that one pass of a merge takes at most.',
  },
  {
    name: 'MERGE_MAX_BYTES',
    property: 'mergeMaxBytes',
    unit: 'bytes',
    default: '268435456',
    least: 1,
    meaning:
      'Bytes of generations that one pass of a merge takes at most (always at least one generation), and the pending bytes from which a merge is due.',
  },
  {
    name: 'MERGE_SLICE_BYTES',
    property: 'mergeSliceBytes',
    unit: 'bytes',
    default: '8388608',
    least: 1,
    meaning:
      'Bytes of rows that a merge reads and commits at a time (always at least one row). The memory of a merge follows it. LanceDB’s memory pool (LANCE_MEM_POOL_SIZE, unless it is set) is eight times this, at least 150 MiB.',
  },
  {
    name: 'GENERATION_RETENTION',
    property: 'generationRetentionMs',
    unit: 'seconds',
    default: '3600',
    least: 0,
    meaning:
      'How long a merged generation stays on disk. Longer than any reader holds a version of the table: readers must refresh or reopen within it.',
  },
  {
    name: 'COMPACT_MAX_BYTES',
    property: 'compactMaxBytes',
    unit: 'bytes',
    default: '1073741824',
    least: 1,
    meaning:
      'Bytes of fragments that one commit of a compaction rewrites at most. Above it the bounded strategy is taken instead of optimize().',
  },
  {
    name: 'COMPACT_MAX_SOURCE_FRAGMENTS',
    property: 'compactMaxSourceFragments',
    unit: 'count',
    default: '512',
    least: 2,
    meaning: 'Fragments that one commit of the bounded strategy rewrites at most.',
  },
  {
    name: 'TARGET_FRAGMENT_BYTES',
    property: 'targetFragmentBytes',
    unit: 'bytes',
    default: '134217728',
    least: 1,
    meaning: 'A fragment below 3/4 of this size (and below 1,048,576 rows) counts as small.',
  },
  {
    name: 'INDEX_MAX_ROWS_OUTSIDE',
    property: 'indexMaxRowsOutside',
    unit: 'count',
    default: '100000',
    least: 1,
    meaning: 'The indexes of a table are extended from this many rows outside of one of them.',
  },
  {
    name: 'INDEX_MAX_PERCENT_OUTSIDE',
    property: 'indexMaxPercentOutside',
    unit: 'count',
    default: '10',
    least: 1,
    meaning: 'The indexes of a table are extended from this share of its rows outside of one of them, in percent.',
  },
  {
    name: 'INDEX_TAIL_INTERVAL',
    property: 'indexTailIntervalMs',
    unit: 'seconds',
    default: '3600',
    least: 1,
    meaning: 'Rows outside of an index are taken in after this time even if there are too few of them otherwise.',
  },
  {
    name: 'VERSION_RETENTION',
    property: 'versionRetentionMs',
    unit: 'seconds',
    default: '604800',
    least: 0,
    meaning:
      "Old versions of a table are pruned past this age, unless the table's own config (lance.auto_cleanup.older_than) names another. Never below GENERATION_RETENTION: merged generations are collected by what old versions say.",
  },
  {
    name: 'PRUNE_KEEP_VERSIONS',
    property: 'pruneKeepVersions',
    unit: 'count',
    default: '3',
    least: 1,
    meaning: 'So many of the newest versions of a table stay, whatever their age.',
  },
  {
    name: 'PRUNE_MIN_VERSIONS',
    property: 'pruneMinVersions',
    unit: 'count',
    default: '100',
    least: 1,
    meaning: 'A table is pruned from this many versions that may go.',
  },
  {
    name: 'PRUNE_MIN_BYTES',
    property: 'pruneMinBytes',
    unit: 'bytes',
    default: '268435456',
    least: 1,
    meaning: 'A table is pruned from this many bytes that only old versions name.',
  },
  {
    name: 'PRUNE_INTERVAL',
    property: 'pruneIntervalMs',
    unit: 'seconds',
    default: '86400',
    least: 1,
    meaning:
      'A table is pruned when a version is this much older than the retention, however few and small old versions are.',
  },
  {
    name: 'COMPACTION_INTERVAL',
    property: 'compactionIntervalMs',
    unit: 'seconds',
    default: '600',
    least: 1,
    meaning: 'Time between two sweeps that ask for compactions and key indexes.',
  },
  {
    name: 'MERGE_WAL_INTERVAL',
    property: 'mergeWalIntervalMs',
    unit: 'seconds',
    default: '600',
    least: 1,
    meaning: 'Time between two sweeps that ask for merges.',
  },
  {
    name: 'MERGE_WAL_TAIL_INTERVAL',
    property: 'mergeWalTailIntervalMs',
    unit: 'seconds',
    default: '3600',
    least: 1,
    meaning: 'Pending generations are merged after this time even if there are too few of them otherwise.',
  },
  {
    name: 'TASK_COOLDOWN_AFTER_FAILURES',
    property: 'taskCooldownAfterFailures',
    unit: 'count',
    default: '3',
    least: 1,
    meaning: 'Failures of one kind on one table in a row, from which on it cools down (600 s, doubling to 6 h).',
  },
  {
    name: 'TASK_HISTORY_DAYS',
    property: 'taskHistoryMs',
    unit: 'days',
    default: '7',
    least: 1,
    meaning: 'How long an ended task can be looked up.',
  },
];
