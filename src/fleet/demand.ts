import { compactionResults } from './demand-compaction.ts';
import { indexResults } from './demand-indexes.ts';
import { keyIndexResults } from './demand-key-index.ts';
import { versionResults } from './demand-versions.ts';
import { walResults } from './demand-wal.ts';
import type { TableFacts } from './facts.ts';
import type { DemandInput, RuleResult } from './rule-result.ts';

export type { DemandInput, DemandRule, DemandSettings, RuleResult, SweepKind } from './rule-result.ts';

/** Every rule with its threshold and value: the only place where facts become needs. */
export function demand(facts: TableFacts, input: DemandInput): readonly RuleResult[] {
  const { sweep } = input;
  const results: RuleResult[] = [];
  if (sweep === undefined || sweep === 'compaction' || sweep === 'all') {
    results.push(...compactionResults(facts, input), ...keyIndexResults(facts));
  }
  if (sweep !== 'merge') results.push(...indexResults(facts, input));
  if (sweep !== 'compaction') results.push(...walResults(facts, input));
  if (sweep === undefined || sweep === 'tails' || sweep === 'all') results.push(...versionResults(facts, input));
  if (facts.error?.code === 'MANIFEST_UNSUPPORTED') {
    return results.map((result) => refused(result, 'the table uses a feature that is not supported'));
  }
  if (facts.error?.code !== 'INDEX_FILES_MISSING') return results;
  const why = 'LanceDB would drop the index whose files are gone, with its parameters';
  return results.map((result) => (result.kind === 'Compact' ? refused(result, why) : result));
}

/** Whatever is asked of a table that must not be written can only fail. */
function refused(result: RuleResult, why: string): RuleResult {
  if (!result.due) return result;
  return {
    ...result,
    due: false,
    reason: `${result.reason} Not asked for: ${why}.`,
  };
}
