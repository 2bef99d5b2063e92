import { count, duration, size } from '../wording.ts';
import type { TableFacts, VersionFacts } from './facts.ts';
import type { DemandInput, RuleResult } from './rule-result.ts';

/** The rules that ask for a Prune: many old versions, much that only they need, or some that are long past their retention. */
export function versionResults(facts: TableFacts, input: DemandInput): readonly RuleResult[] {
  const { versions } = facts;
  if (versions === undefined) return [];
  const last = input.health.Prune?.lastSuccess;
  // Measured before the last prune, the numbers tell what that one has removed.
  const settled = last !== undefined && last.at >= versions.measuredAt;
  return [byCount(versions, input), byBytes(versions, input), byAge(versions, input)].map((result) =>
    held(result, versions, settled),
  );
}

function held(result: RuleResult, versions: VersionFacts, settled: boolean): RuleResult {
  if (versions.refused !== undefined) {
    return { ...result, due: false, reason: `Old versions cannot be pruned: ${versions.refused}` };
  }
  if (!result.due || !settled) return result;
  return { ...result, due: false, reason: `${result.reason.slice(0, -1)}, as counted before the last prune.` };
}

function byCount(versions: VersionFacts, { settings }: DemandInput): RuleResult {
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
    reason: `${count(value, 'version')} of ${all} can go (due from ${threshold}).`,
  };
}

function byBytes(versions: VersionFacts, { settings }: DemandInput): RuleResult {
  const threshold = settings.pruneMinBytes;
  const value = versions.prunableBytes;
  return {
    rule: 'versions-bytes',
    kind: 'Prune',
    threshold,
    value,
    unit: 'bytes',
    due: value >= threshold,
    reason: `Only old versions need at least ${size(value)} (due from ${size(threshold)}).`,
  };
}

function byAge(versions: VersionFacts, { settings, now }: DemandInput): RuleResult {
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
    reason:
      oldestPrunable === null
        ? `No version is past its retention of ${duration(retentionMs)}.`
        : `The oldest version that can go is ${duration(beyond)} past its retention of ${duration(retentionMs)} (due from ${duration(settings.pruneIntervalMs)}).`,
  };
}
