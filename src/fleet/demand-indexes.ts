import { OTHER_COLUMN } from '../lance/key-index.ts';
import { count, duration, percent } from '../wording.ts';
import type { IndexFacts, TableFacts } from './facts.ts';
import type { DemandInput, RuleResult } from './rule-result.ts';

/** An index that could not be extended is tried again after this long, or as soon as it was built anew. */
const TRY_AGAIN_MS = 24 * 3_600_000;

/**
 * The rules that ask for an OptimizeIndices: rows outside of any index but the key's own, which has rules of its own; merged
 * generations that wait for an index; a hold that was left behind.
 */
export function indexResults(facts: TableFacts, input: DemandInput): readonly RuleResult[] {
  const { keyIndex } = facts;
  // An IndexId also replaces an index of another kind in its place; one that only has its name is like any other.
  const ofKey = keyIndex === null || keyIndex.kind === OTHER_COLUMN ? undefined : keyIndex.name;
  const others = facts.indexes.filter(({ name }) => name !== ofKey);
  const broken = brokenIndexes(facts, input);
  const indexes = others.filter(({ name }) => !broken.includes(name));
  const last = input.health.OptimizeIndices?.lastSuccess;
  // What the last pass left as it is at this same version, the next one would leave, too.
  const settled = last?.rewroteNothing === true && last.versionAfter === facts.version;
  const aside = broken.length === 0 ? '' : `; ${broken.join(', ')} could not be extended`;
  return [
    rows(indexes, settled, aside, input),
    share(indexes, facts, settled, aside, input),
    tail(indexes, settled, aside, input),
    catchUp(indexes, settled, input),
    holdLeft(facts, input),
  ];
}

/** Names of indexes that the last OptimizeIndices could not extend, and that nobody has repaired since. */
export function brokenIndexes({ indexes }: TableFacts, { health, now }: Pick<DemandInput, 'health' | 'now'>): string[] {
  const last = health.OptimizeIndices?.lastSuccess;
  if (last?.problems === undefined || now - last.at >= TRY_AGAIN_MS) return [];
  const behind = new Set(indexes.filter(({ rowsOutside }) => rowsOutside > 0).map(({ name }) => name));
  return last.problems.map(({ subject }) => subject).filter((name) => behind.has(name));
}

/** From so many segments on, each search pays for all of them, and fragments of different segments are never combined. */
const MANY_SEGMENTS = 32;

/** Indexes that are worth a new build by their owner, who alone knows their parameters. */
export function manySegments({ indexes }: Pick<TableFacts, 'indexes'>): readonly IndexFacts[] {
  return indexes.filter(({ segments }) => segments >= MANY_SEGMENTS);
}

function rows(indexes: readonly IndexFacts[], settled: boolean, aside: string, { settings }: DemandInput): RuleResult {
  const threshold = settings.indexMaxRowsOutside;
  const worst = worstOf(indexes);
  const value = worst?.rowsOutside ?? 0;
  return {
    rule: 'index-rows',
    kind: 'OptimizeIndices',
    threshold,
    value,
    unit: 'rows',
    due: value >= threshold && !settled,
    reason: `${outside(worst)} (due from ${count(threshold, 'row')})${aside}.`,
  };
}

function share(
  indexes: readonly IndexFacts[],
  facts: TableFacts,
  settled: boolean,
  aside: string,
  { settings }: DemandInput,
): RuleResult {
  const threshold = settings.indexMaxPercentOutside / 100;
  const worst = worstOf(indexes);
  const value = facts.rows === 0 ? 0 : (worst?.rowsOutside ?? 0) / facts.rows;
  return {
    rule: 'index-share',
    kind: 'OptimizeIndices',
    threshold,
    value,
    unit: 'share',
    due: value > 0 && value >= threshold && !settled,
    reason: `${percent(value)} of the rows are outside of ${worst?.name ?? 'any index'} (due from ${percent(threshold)})${aside}.`,
  };
}

/** A tail: fewer rows than a pass is worth. Due in the sweep of the tails, and in any sweep once it is old enough. */
function tail(indexes: readonly IndexFacts[], settled: boolean, aside: string, input: DemandInput): RuleResult {
  const interval = input.settings.indexTailIntervalMs;
  const behind = indexes.filter(({ rowsOutside }) => rowsOutside > 0);
  const since = behind.flatMap(({ outsideSince }) => outsideSince ?? []);
  const age = since.length === 0 ? 0 : input.now - Math.min(...since);
  const ofTails = input.sweep === 'tails' || input.sweep === 'all';
  const when = ofTails ? 'this sweep takes every tail' : `due after ${duration(interval)}`;
  const named = behind.map(({ name }) => name).join(', ');
  return {
    rule: 'index-tail',
    kind: 'OptimizeIndices',
    threshold: 1,
    value: behind.length,
    unit: 'indexes',
    due: behind.length >= 1 && !settled && (ofTails || age >= interval),
    reason:
      behind.length === 0
        ? `Every index covers every row${aside}.`
        : `${named}: rows outside since ${duration(age)} at least (${when})${aside}.`,
  };
}

function catchUp(indexes: readonly IndexFacts[], settled: boolean, { sweep }: DemandInput): RuleResult {
  const waiting = indexes.filter(({ generationsBehind }) => generationsBehind > 0);
  const most = Math.max(0, ...waiting.map(({ generationsBehind }) => generationsBehind));
  const named = waiting.map(({ name }) => name).join(', ');
  return {
    rule: 'index-catch-up',
    kind: 'OptimizeIndices',
    threshold: 1,
    value: most,
    unit: 'generations',
    due: most >= 1 && !settled && sweep !== 'compaction',
    reason:
      most === 0
        ? 'No merged generation waits for an index.'
        : `${count(most, 'merged generation')} cannot be removed before ${named} has caught up.`,
  };
}

function holdLeft({ hold }: TableFacts, { now }: DemandInput): RuleResult {
  return {
    rule: 'hold-left',
    kind: 'OptimizeIndices',
    threshold: 1,
    value: hold === null ? 0 : 1,
    unit: 'indexes',
    due: hold !== null,
    reason:
      hold === null
        ? 'No hold keeps compaction off fragments.'
        : `A hold of ${duration(now - hold.createdAt)} ago keeps compaction off ${count(hold.heldFragments, 'fragment')}.`,
  };
}

function worstOf(indexes: readonly IndexFacts[]): IndexFacts | undefined {
  return [...indexes].sort((a, b) => b.rowsOutside - a.rowsOutside)[0];
}

function outside(worst: IndexFacts | undefined): string {
  if (worst === undefined) return 'There is no index beside the one on the key';
  return `${count(worst.rowsOutside, 'row')} in ${count(worst.uncoveredFragments, 'fragment')} outside of ${worst.name}`;
}
