import type { ObjectStore } from '../lance/object-store.ts';
import type { Lancedb } from './lancedb.ts';

/** The settings that the work reads, out of all of them. Sizes in bytes, times in milliseconds. */
export interface WorkSettings {
  readonly indexBeforeMerge: boolean;
  readonly mergeMaxGenerations: number;
  readonly mergeMaxBytes: number;
  readonly generationRetentionMs: number;
  readonly compactMaxBytes: number;
  readonly compactMaxSourceFragments: number;
  readonly targetFragmentBytes: number;
  readonly versionRetentionMs: number;
}

/** What every kind of work is given once per process. */
export interface WorkDependencies {
  /** The object store rooted at a table's URI. */
  readonly storageFor: (uri: string) => ObjectStore;
  readonly lancedb: Lancedb;
  readonly settings: WorkSettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The running attempt as the work sees it; the worker's AttemptContext fits. */
export interface WorkContext {
  readonly target: string;
  /** Aborts when the lease is lost, the process shuts down or the deadline has come. */
  readonly signal: AbortSignal;
  /** Milliseconds until the work has to stop, the time to settle already taken off. */
  remainingMs(): number;
  /** Renews the lease by a write; throws LEASE_LOST. Called right before each commit. */
  fence(): Promise<void>;
  /** Stores the version the first attempt began from and returns it, so that a retry counts from there. */
  baseVersion(current: number): Promise<number>;
  /** Runs a native call; the worker never lets the process return to its host while one is in flight. */
  native<T>(run: () => Promise<T>): Promise<T>;
  progress(line: string): void;
}
