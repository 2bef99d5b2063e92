import type { Settings } from '../config.ts';
import type { Lifecycle, StoredFacts } from '../tasks/api.ts';
import type { TableFacts } from './facts.ts';

/** What looking at a fleet reads from the ledger. */
export type FleetLedger = Pick<Lifecycle, 'openTasks' | 'health' | 'leaseOf'>;

/** What a sweep needs besides: it keeps facts and asks for tasks. */
export type SweepLedger = Pick<
  Lifecycle,
  'admit' | 'openTasks' | 'health' | 'getFacts' | 'putFacts' | 'listFacts' | 'forgetFacts'
>;

type NeedSettings = Pick<Settings, 'minFragments' | 'mergeWalMinGenerations' | 'pruneMinVersions'>;

/** The facts as the ledger takes them: with the order for lists of the worst first. */
export function toStored(facts: TableFacts, settings: NeedSettings): StoredFacts & { readonly need: number } {
  return { target: facts.target, observedAt: facts.observedAt, facts, need: needOf(facts, settings) };
}

/** Facts from the ledger; undefined when there are none, or of a release that kept them differently. */
export function fromStored(stored: StoredFacts | undefined): TableFacts | undefined {
  const facts = stored?.facts;
  if (facts === null || typeof facts !== 'object') return undefined;
  const hasNumbers = ['observedAt', 'version', 'versionTimestamp', 'compactableFragments', 'tooLargeFragments'].every(
    (name) => typeof Reflect.get(facts, name) === 'number',
  );
  return hasNumbers && 'wal' in facts && 'keyIndex' in facts && 'indexes' in facts && 'hold' in facts
    ? (facts as TableFacts)
    : undefined;
}

/** How badly a table needs work, a whole number: what waits in thousandths of its threshold; damage comes before everything. */
function needOf(facts: TableFacts, settings: NeedSettings): number {
  const pending = facts.wal?.shards.reduce((sum, shard) => sum + shard.pendingGenerations, 0) ?? 0;
  const covered = facts.keyIndex?.exact ? facts.rows - facts.keyIndex.unindexedRows : 0;
  const indexable = facts.keyColumn !== null && facts.keyTypeWithoutIndex === undefined;
  const outsideIndex = indexable ? facts.rows - covered : 0;
  const waiting =
    facts.compactableFragments / settings.minFragments +
    pending / settings.mergeWalMinGenerations +
    (facts.rows === 0 ? 0 : (outsideIndex + outsideOthers(facts)) / facts.rows) +
    oldVersionsWeight * Math.min(1, (facts.versions?.prunable ?? 0) / settings.pruneMinVersions);
  return Math.round(waiting * 1000) + (facts.error === undefined ? 0 : damaged);
}

/** Rows outside the index that lacks the most of them, the key's own aside. */
function outsideOthers({ indexes, keyIndex }: TableFacts): number {
  return Math.max(0, ...indexes.filter(({ name }) => name !== keyIndex?.name).map(({ rowsOutside }) => rowsOutside));
}

/** Old versions cost space, and no query anything. */
const oldVersionsWeight = 0.1;

/** More than any table can have waiting. */
const damaged = 1_000_000_000;
