import type { StoreFacts, VersionFacts } from './facts.ts';
import type { DemandInput, Verdict } from './verdict.ts';
import { count, duration, size } from './wording.ts';

/** The rules that ask for a Prune: many old versions, much that only they need, or some that are long past their retention. */
export function versionVerdicts(facts: StoreFacts, input: DemandInput): readonly Verdict[] {
  const { versions } = facts;
  if (versions === undefined) return [];
  const last = input.health.Prune?.lastSuccess;
  // Measured before the last prune, the numbers tell what that one has removed.
  const settled = last !== undefined && last.at >= versions.measuredAt;
  return [byCount(versions, input), byBytes(versions, input), byAge(versions, input)].map((verdict) =>
    held(verdict, versions, settled),
  );
}

function held(verdict: Verdict, versions: VersionFacts, settled: boolean): Verdict {
  if (versions.refused !== undefined) {
    return { ...verdict, due: false, because: `Old versions cannot be pruned: ${versions.refused}` };
  }
  if (!verdict.due || !settled) return verdict;
  return { ...verdict, due: false, because: `${verdict.because.slice(0, -1)}, as counted before the last prune.` };
}

function byCount(versions: VersionFacts, { settings }: DemandInput): Verdict {
  const threshold = settings.pruneMinVersions;
  const value = versions.prunable;
  const all = count(versions.count, 'version');
  return {
    rule: 'versions-count',
    kind: 'Prune',
    threshold,
    value,
    unit: 'versions',
    due: value >= threshold,
    because: `${count(value, 'version')} of ${all} can go (due from ${threshold}).`,
  };
}

function byBytes(versions: VersionFacts, { settings }: DemandInput): Verdict {
  const threshold = settings.pruneMinBytes;
  const value = versions.prunableBytes;
  return {
    rule: 'versions-bytes',
    kind: 'Prune',
    threshold,
    value,
    unit: 'bytes',
    due: value >= threshold,
    because: `Only old versions need at least ${size(value)} (due from ${size(threshold)}).`,
  };
}

function byAge(versions: VersionFacts, { settings, now }: DemandInput): Verdict {
  const threshold = settings.pruneIntervalMs / 1000;
  const { oldestPrunable, retentionMs } = versions;
  const beyond = oldestPrunable === null ? 0 : Math.max(0, now - oldestPrunable - retentionMs);
  return {
    rule: 'versions-age',
    kind: 'Prune',
    threshold,
    value: Math.round(beyond / 1000),
    unit: 'seconds',
    due: oldestPrunable !== null && beyond >= settings.pruneIntervalMs,
    because:
      oldestPrunable === null
        ? `No version is past its retention of ${duration(retentionMs)}.`
        : `The oldest version that can go is ${duration(beyond)} past its retention of ${duration(retentionMs)} (due from ${duration(settings.pruneIntervalMs)}).`,
  };
}
