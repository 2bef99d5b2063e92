import { OTHER_COLUMN } from '../lance/key-index.ts';
import { count } from '../wording.ts';
import type { KeyIndexFacts, TableFacts } from './facts.ts';
import type { RuleResult } from './rule-result.ts';

/** The rules that ask for an IndexId: no index on the key column, one that is no BTree, or rows outside the BTree. */
export function keyIndexResults(facts: TableFacts): readonly RuleResult[] {
  const results = [missing(facts), wrongKind(facts), uncovered(facts)];
  const type = facts.keyTypeWithoutIndex;
  if (type === undefined) return results;
  const reason = `No BTree can stand on the key column ${facts.keyColumn}, which is ${type}, so none is asked for.`;
  return results.map((result) => ({ ...result, value: 0, due: false, reason }));
}

function missing(facts: TableFacts): RuleResult {
  const { keyColumn, keyIndex } = facts;
  const absent = keyColumn !== null && ((keyIndex === null && facts.rows > 0) || keyIndex?.filesMissing === true);
  return {
    rule: 'key-index-missing',
    kind: 'IndexId',
    threshold: 1,
    value: absent ? 1 : 0,
    unit: 'indexes',
    due: absent,
    reason: messageOfMissing(facts),
  };
}

function messageOfMissing({ keyColumn, keyIndex, rows }: TableFacts): string {
  if (keyColumn === null) return 'There is no key column, so there is nothing to index.';
  if (keyIndex?.filesMissing) return `The files of the index ${keyIndex.name} on ${keyColumn} are gone.`;
  if (keyIndex !== null)
    return `There is an index on the key column ${keyColumn}: ${keyIndex.name} (${keyIndex.kind}).`;
  if (rows === 0) return `There is no index on the key column ${keyColumn}, but no rows either.`;
  return `There is no index on the key column ${keyColumn}.`;
}

function wrongKind({ keyColumn, keyIndex, rows }: TableFacts): RuleResult {
  const wrong = keyIndex !== null && !keyIndex.exact;
  return {
    rule: 'key-index-wrong-kind',
    kind: 'IndexId',
    threshold: 1,
    value: wrong ? 1 : 0,
    unit: 'indexes',
    due: wrong && rows > 0,
    reason: messageOfWrongKind(keyColumn, wrong ? keyIndex : null),
  };
}

function messageOfWrongKind(keyColumn: string | null, wrong: KeyIndexFacts | null): string {
  if (wrong === null) return 'No index of another kind stands in the place of the BTree.';
  if (wrong.kind === OTHER_COLUMN)
    return `The name ${wrong.name} is taken by an index that is not on ${keyColumn} alone.`;
  return `The index ${wrong.name} on ${keyColumn} is of kind ${wrong.kind}; a merge needs a BTree.`;
}

function uncovered({ keyIndex }: TableFacts): RuleResult {
  const value = keyIndex?.exact ? keyIndex.unindexedRows : 0;
  return {
    rule: 'key-index-uncovered',
    kind: 'IndexId',
    threshold: 1,
    value,
    unit: 'rows',
    due: value > 0,
    reason: keyIndex?.exact
      ? `${count(value, 'row')} in ${count(keyIndex.uncoveredFragments, 'fragment')} outside of the BTree ${keyIndex.name}.`
      : 'There is no BTree whose coverage could be counted.',
  };
}
