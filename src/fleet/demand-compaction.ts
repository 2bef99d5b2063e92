import type { StoreFacts } from './facts.ts';
import type { DemandInput, Verdict } from './verdict.ts';
import { count, percent } from './wording.ts';

const deletedShareDue = 0.2;

/** The rules that ask for a Compact. Both count only what a compaction would really rewrite. */
export function compactionVerdicts(facts: StoreFacts, input: DemandInput): readonly Verdict[] {
  const last = input.health.Compact?.lastSuccess;
  // A store that cannot shrink would otherwise be compacted on every sweep, for ever.
  const settled = last?.rewroteNothing === true && last.versionAfter === facts.version;
  return [smallFragments(facts, input.settings.minFragments, settled), deletedShare(facts, settled)];
}

function smallFragments(facts: StoreFacts, threshold: number, settled: boolean): Verdict {
  const value = facts.compactableFragments;
  const reached = value >= threshold;
  const counted = `${count(value, 'fragment')} can be compacted (due from ${threshold})`;
  return {
    rule: 'fragments-small',
    kind: 'Compact',
    threshold,
    value,
    unit: 'fragments',
    due: reached && !settled,
    because: sentence(counted, facts, reached && settled),
  };
}

function deletedShare(facts: StoreFacts, settled: boolean): Verdict {
  const value = facts.physicalRows === 0 ? 0 : facts.deletedRows / facts.physicalRows;
  const reached = value >= deletedShareDue;
  const counted = `${percent(value)} of the rows are deleted (due from ${percent(deletedShareDue)})`;
  const nothing = reached && facts.compactableFragments === 0 ? ', but no fragment can be rewritten' : '';
  return {
    rule: 'deleted-share',
    kind: 'Compact',
    threshold: deletedShareDue,
    value,
    unit: 'share',
    due: reached && facts.compactableFragments > 0 && !settled,
    because: sentence(counted + nothing, facts, reached && settled),
  };
}

function sentence(counted: string, facts: StoreFacts, settled: boolean): string {
  const large = facts.tooLargeFragments;
  const left =
    large === 0 ? '' : `; ${count(large, 'fragment')} more would have to be rewritten beyond COMPACT_MAX_BYTES`;
  const again = settled ? `; the last compaction rewrote nothing at this same version ${facts.version}` : '';
  return `${counted}${left}${again}.`;
}
