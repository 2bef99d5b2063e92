import { compactionVerdicts } from './demand-compaction.ts';
import { indexVerdicts } from './demand-indexes.ts';
import { keyIndexVerdicts } from './demand-key-index.ts';
import { versionVerdicts } from './demand-versions.ts';
import { walVerdicts } from './demand-wal.ts';
import type { StoreFacts } from './facts.ts';
import type { DemandInput, Verdict } from './verdict.ts';

export type { DemandInput, DemandRule, DemandSettings, SweepKind, Verdict } from './verdict.ts';

/** Every rule with its threshold and value: the only place where facts become needs. */
export function demand(facts: StoreFacts, input: DemandInput): readonly Verdict[] {
  const { sweep } = input;
  const verdicts: Verdict[] = [];
  if (sweep === undefined || sweep === 'compaction' || sweep === 'all') {
    verdicts.push(...compactionVerdicts(facts, input), ...keyIndexVerdicts(facts));
  }
  if (sweep !== 'merge') verdicts.push(...indexVerdicts(facts, input));
  if (sweep !== 'compaction') verdicts.push(...walVerdicts(facts, input));
  if (sweep === undefined || sweep === 'tails' || sweep === 'all') verdicts.push(...versionVerdicts(facts, input));
  if (facts.error?.code === 'MANIFEST_UNSUPPORTED') {
    return verdicts.map((verdict) => refused(verdict, 'the table uses a feature that is not supported'));
  }
  if (facts.error?.code !== 'INDEX_FILES_MISSING') return verdicts;
  const why = 'LanceDB would drop the index whose files are gone, with its parameters';
  return verdicts.map((verdict) => (verdict.kind === 'Compact' ? refused(verdict, why) : verdict));
}

/** Whatever is asked of a table that must not be written can only fail. */
function refused(verdict: Verdict, why: string): Verdict {
  if (!verdict.due) return verdict;
  return {
    ...verdict,
    due: false,
    because: `${verdict.because} Not asked for: ${why}.`,
  };
}
