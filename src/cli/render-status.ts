import type { StatusReport } from '../upkeep/reports.ts';
import { count } from '../wording.ts';
import { formatCount, tableNames } from './format.ts';
import type { Paint } from './paint.ts';
import { type Cell, type Column, oneLine, renderTable } from './render-table.ts';
import { describeIndexes, describeVersions } from './render-tables.ts';

const COLUMNS: Column[] = [
  { title: 'table' },
  { title: 'state' },
  { title: 'fragments', align: 'right' },
  { title: 'key index' },
  { title: 'indexes' },
  { title: 'pending generations', align: 'right' },
  { title: 'versions' },
  { title: 'open tasks' },
  { title: 'observed' },
  { title: 'reason' },
];

type TableStatus = StatusReport['tables'][number];

/** First what is paused; then one line a table, worst first as the report has it, each with the answer to why it is not running. */
export function renderStatus(report: StatusReport, paint: Paint): string {
  const names = tableNames(report.tables.map((table) => table.target));
  const rows = report.tables.map((table): Cell[] => [
    names.get(table.target) ?? table.target,
    table.attention ? { text: 'attention', paint: paint.bad } : { text: 'fine', paint: paint.good },
    table.facts === null ? '-' : formatCount(table.facts.fragments),
    keyIndexOf(table),
    table.facts === null ? '-' : describeIndexes(table.facts),
    pendingOf(table),
    describeVersions(table.facts?.versions ?? null),
    table.openTasks.map((task) => `${task.kind} ${task.state}`).join(', ') || 'none',
    table.facts === null ? 'never' : new Date(table.facts.numbersFrom ?? table.facts.observedAt).toISOString(),
    table.reasons.join(' '),
  ]);
  const paused = report.pauses.map(
    ({ scope, by, since, reason }) => `paused: ${scope ?? 'everything'}, since ${since} by ${by}: ${oneLine(reason)}\n`,
  );
  return `${paused.join('')}${rows.length > 0 ? renderTable(COLUMNS, rows) : ''}`;
}

function keyIndexOf(table: TableStatus): string {
  const index = table.facts?.keyIndex;
  if (table.facts === null) return '-';
  if (!index) return 'none';
  if (index.filesMissing) return `${index.kind}, its files are gone`;
  if (!index.exact) return `${index.kind}, not a BTree`;
  const uncovered = index.unindexedRows > 0 || index.uncoveredFragments > 0;
  return uncovered ? `${index.kind}, ${count(index.unindexedRows, 'row')} not covered` : `${index.kind}, all rows`;
}

function pendingOf(table: TableStatus): string {
  const shards = table.facts?.wal?.shards;
  if (!shards) return '-';
  return formatCount(shards.reduce((total, shard) => total + shard.pendingGenerations, 0));
}
