import type { CleanupConfig } from './cleanup-config.ts';
import type { ListedVersion } from './list-versions.ts';

/** Why a version stays; the first that holds, in this order. */
export type RetainedReason = 'head' | 'tagged' | 'recent' | 'newestAtCutoff' | 'newest';

export interface RetentionRule {
  /** Versions newer than this stay, epoch milliseconds by the object store's clock. */
  readonly cutoff: number;
  /** How far the cutoff lies behind now, milliseconds. */
  readonly retentionMs: number;
  /** So many of the newest versions stay, whatever their age. */
  readonly keepNewest: number;
}

/** What the settings say about old versions; milliseconds. */
export interface RetentionSettings {
  readonly versionRetentionMs: number;
  readonly generationRetentionMs: number;
  readonly pruneKeepVersions: number;
}

/** The settings, unless the table's owner wrote down another age or a greater number. */
export function retentionRule(settings: RetentionSettings, config: CleanupConfig, now: number): RetentionRule {
  const retention = retentionMs(settings, config);
  return {
    cutoff: now - retention,
    retentionMs: retention,
    keepNewest: Math.max(1, settings.pruneKeepVersions, config.retainVersions ?? 0),
  };
}

/** Never below the retention of generations: which of them can be collected is read from the versions of that time. */
function retentionMs(settings: RetentionSettings, config: CleanupConfig): number {
  return Math.max(settings.generationRetentionMs, config.olderThanMs ?? settings.versionRetentionMs);
}

export interface VersionRetention {
  readonly retained: ReadonlyMap<number, RetainedReason>;
  /** Oldest first. */
  readonly prunable: readonly ListedVersion[];
  /** When the next version will be prunable if nothing is committed; null when that never happens. Epoch milliseconds. */
  readonly nextPrunableAt: number | null;
}

/**
 * Which versions may go. The version that was the newest at the cutoff stays: a reader who refreshed within the retention may hold it.
 *
 *     1 2 3 4 | cutoff | 5 6 head      4 was the newest at the cutoff; 1 to 3 may go
 *
 * @param versions newest first, as `listVersions` gives them.
 */
export function decideRetention(
  versions: readonly ListedVersion[],
  tagged: ReadonlySet<number>,
  rule: RetentionRule,
): VersionRetention {
  const atCutoff = versions.find(({ modified }) => modified <= rule.cutoff);
  const retained = new Map<number, RetainedReason>();
  const prunable: ListedVersion[] = [];
  let nextPrunableAt: number | null = null;
  for (const [index, listed] of versions.entries()) {
    const reason = reasonFor(listed, index);
    if (reason === undefined) prunable.push(listed);
    else retained.set(listed.version, reason);
    // A version is held by its age until its successor, too, is older than the retention.
    const successor = versions[index - 1];
    const byAge = reason === 'recent' || reason === 'newestAtCutoff';
    if (!byAge || successor === undefined || index < rule.keepNewest) continue;
    const ages = Math.max(listed.modified, successor.modified) + rule.retentionMs;
    nextPrunableAt = nextPrunableAt === null ? ages : Math.min(nextPrunableAt, ages);
  }
  return { retained, prunable: prunable.reverse(), nextPrunableAt };

  function reasonFor(listed: ListedVersion, index: number): RetainedReason | undefined {
    if (index === 0) return 'head';
    if (tagged.has(listed.version)) return 'tagged';
    if (listed.modified > rule.cutoff) return 'recent';
    if (listed.version === atCutoff?.version) return 'newestAtCutoff';
    return index < rule.keepNewest ? 'newest' : undefined;
  }
}
