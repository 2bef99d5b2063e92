import type { StatusReport } from '../upkeep/reports.ts';
import { formatCount, formatNumberOf, storeNames } from './format.ts';
import type { Paint } from './paint.ts';
import { describeIndexes, describeVersions } from './render-stores.ts';
import { type Cell, type Column, oneLine, renderTable } from './render-table.ts';

const COLUMNS: Column[] = [
  { title: 'store' },
  { title: 'state' },
  { title: 'fragments', align: 'right' },
  { title: 'key index' },
  { title: 'indexes' },
  { title: 'pending generations', align: 'right' },
  { title: 'versions' },
  { title: 'open tasks' },
  { title: 'observed' },
  { title: 'because' },
];

type Store = StatusReport['stores'][number];

/** First what is paused; then one line a store, worst first as the report has it, each with the answer to why it is not running. */
export function renderStatus(report: StatusReport, paint: Paint): string {
  const names = storeNames(report.stores.map((store) => store.target));
  const rows = report.stores.map((store): Cell[] => [
    names.get(store.target) ?? store.target,
    store.attention ? { text: 'attention', paint: paint.bad } : { text: 'fine', paint: paint.good },
    store.facts === null ? '-' : formatCount(store.facts.fragments),
    keyIndexOf(store),
    store.facts === null ? '-' : describeIndexes(store.facts),
    pendingOf(store),
    describeVersions(store.facts?.versions ?? null),
    store.openTasks.map((task) => `${task.kind} ${task.state}`).join(', ') || 'none',
    store.facts === null ? 'never' : new Date(store.facts.numbersFrom ?? store.facts.observedAt).toISOString(),
    store.because.join(' '),
  ]);
  const paused = report.pauses.map(
    ({ scope, by, since, reason }) => `paused: ${scope ?? 'everything'}, since ${since} by ${by}: ${oneLine(reason)}\n`,
  );
  return `${paused.join('')}${rows.length > 0 ? renderTable(COLUMNS, rows) : ''}`;
}

function keyIndexOf(store: Store): string {
  const index = store.facts?.keyIndex;
  if (store.facts === null) return '-';
  if (!index) return 'none';
  if (index.filesMissing) return `${index.kind}, its files are gone`;
  if (!index.exact) return `${index.kind}, not a BTree`;
  const uncovered = index.unindexedRows > 0 || index.uncoveredFragments > 0;
  return uncovered
    ? `${index.kind}, ${formatNumberOf(index.unindexedRows, 'row')} not covered`
    : `${index.kind}, all rows`;
}

function pendingOf(store: Store): string {
  const shards = store.facts?.wal?.shards;
  if (!shards) return '-';
  return formatCount(shards.reduce((total, shard) => total + shard.pendingGenerations, 0));
}
