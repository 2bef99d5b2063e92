import { count, percent } from '../wording.ts';
import type { TableFacts } from './facts.ts';
import type { DemandInput, RuleResult } from './rule-result.ts';

const deletedShareDue = 0.2;

/** The rules that ask for a Compact. Both count only what a compaction would really rewrite. */
export function compactionResults(facts: TableFacts, input: DemandInput): readonly RuleResult[] {
  const last = input.health.Compact?.lastSuccess;
  // A table that cannot shrink would otherwise be compacted on every sweep, for ever.
  const settled = last?.rewroteNothing === true && last.versionAfter === facts.version;
  return [smallFragments(facts, input.settings.minFragments, settled), deletedShare(facts, settled)];
}

function smallFragments(facts: TableFacts, threshold: number, settled: boolean): RuleResult {
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
    reason: messageOf(counted, facts, reached && settled),
  };
}

function deletedShare(facts: TableFacts, settled: boolean): RuleResult {
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
    reason: messageOf(counted + nothing, facts, reached && settled),
  };
}

function messageOf(counted: string, facts: TableFacts, settled: boolean): string {
  const large = facts.tooLargeFragments;
  const left =
    large === 0 ? '' : `; ${count(large, 'fragment')} more would have to be rewritten beyond COMPACT_MAX_BYTES`;
  const again = settled ? `; the last compaction rewrote nothing at this same version ${facts.version}` : '';
  return `${counted}${left}${again}.`;
}
