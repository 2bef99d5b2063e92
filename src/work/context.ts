import type { Settings } from '../config.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { AttemptContext } from '../tasks/task.ts';
import type { Lancedb } from './lancedb.ts';

/** The settings that the work reads, out of all of them. */
export type WorkSettings = Pick<
  Settings,
  | 'indexBeforeMerge'
  | 'mergeMaxGenerations'
  | 'mergeMaxBytes'
  | 'mergeSliceBytes'
  | 'generationRetentionMs'
  | 'compactMaxBytes'
  | 'compactMaxSourceFragments'
  | 'targetFragmentBytes'
  | 'versionRetentionMs'
  | 'pruneKeepVersions'
>;

/** What every kind of work is given once per process. */
export interface WorkDependencies {
  /** The object store rooted at a table's URI. */
  readonly storageFor: (uri: string) => ObjectStore;
  readonly lancedb: Lancedb;
  readonly settings: WorkSettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The running attempt as the work sees it. */
export interface WorkContext extends Omit<AttemptContext, 'task' | 'attempt'> {
  readonly target: string;
}
