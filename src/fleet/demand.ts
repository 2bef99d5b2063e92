import { compactionVerdicts } from './demand-compaction.ts';
import { indexVerdicts } from './demand-indexes.ts';
import { keyIndexVerdicts } from './demand-key-index.ts';
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
  return facts.error?.code === 'MANIFEST_UNSUPPORTED' ? verdicts.map(refused) : verdicts;
}

/** Whatever is asked of a table that must not be written can only fail. */
function refused(verdict: Verdict): Verdict {
  if (!verdict.due) return verdict;
  return {
    ...verdict,
    due: false,
    because: `${verdict.because} Not asked for: the table uses a feature that is not supported.`,
  };
}
