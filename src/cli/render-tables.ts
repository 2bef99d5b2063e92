import type { InspectReport } from '../upkeep/reports.ts';
import { count, size } from '../wording.ts';
import { formatChange, formatCount, tableNames } from './format.ts';
import { type Cell, type Column, renderTable } from './render-table.ts';

type IndexLine = Pick<InspectReport['indexes'][number], 'name' | 'rowsOutside'>;
type Shards = NonNullable<InspectReport['wal']>['shards'];

/** `id_idx BTree, all rows` and the like; `none` without an index. */
export function describeKeyIndex(table: InspectReport): string {
  const { keyIndex, keyColumn } = table;
  if (keyIndex === null) return keyColumn === null ? 'no key column' : 'none';
  if (keyIndex.filesMissing) return `${keyIndex.kind}, its files are gone`;
  const covers =
    keyIndex.uncoveredFragments === 0 && keyIndex.unindexedRows === 0
      ? 'all rows'
      : `${count(keyIndex.unindexedRows, 'row')} not covered`;
  return `${keyIndex.kind}, ${covers}`;
}

/** Generations that wait in the MemWAL, over all shards; `-` for a table without one. */
export function describePending(table: InspectReport): string {
  if (table.wal === null) return '-';
  return formatCount(sum(table.wal.shards, (shard) => shard.pendingGenerations));
}

/** `2,000, 1,327 can go (at least 3.2 MiB)`; `-` where they were not counted. */
export function describeVersions(
  versions: Pick<NonNullable<InspectReport['versions']>, 'count' | 'prunable' | 'prunableBytes'> | null,
): string {
  if (versions === null) return '-';
  const { count, prunable, prunableBytes } = versions;
  const going = prunable === 0 ? 'none can go' : `${formatCount(prunable)} can go (at least ${size(prunableBytes)})`;
  return `${formatCount(count)}, ${going}`;
}

/** Everything that `inspect` knows, for a person. */
export function renderInspect(table: InspectReport): string {
  const index = table.keyIndex;
  const facts: [string, string][] = [
    ['version', String(table.version)],
    ['rows', formatCount(table.rows)],
    ['fragments', `${formatCount(table.fragments)} (${formatCount(table.smallFragments)} small)`],
    ['bytes', size(table.bytes)],
    ['key column', table.keyColumn ?? 'none'],
    ['key index', index === null ? 'none' : `${index.name}, ${describeKeyIndex(table)}`],
    ['versions', describeVersions(table.versions)],
    ['MemWAL', table.wal === null ? 'none' : describeWal(table.wal.shards)],
  ];
  if (table.hold !== null)
    facts.push(['hold', `on ${count(table.hold.heldFragments, 'fragment')} since ${table.hold.since}`]);
  if (table.error !== null)
    facts.push(['error', `${table.error.code}: ${table.error.message} ${table.error.next ?? ''}`.trimEnd()]);
  const head = facts.map(([name, value]) => `  ${name.padEnd(12)}${value}\n`).join('');
  const tables = [
    table.indexes.length === 0 ? '' : `\n${renderIndexes(table)}`,
    table.wal === null ? '' : `\n${renderShards(table.wal.shards)}`,
  ];
  return `${table.target}\n${head}${tables.join('')}`;
}

function describeWal(shards: Shards): string {
  const generations = sum(shards, (shard) => shard.pendingGenerations);
  if (generations === 0) return `${count(shards.length, 'shard')}, nothing pending`;
  const rows = sum(shards, (shard) => shard.pendingRows);
  const bytes = size(sum(shards, (shard) => shard.pendingBytes));
  const pending = `${count(generations, 'generation')} pending (${count(rows, 'row')}, ${bytes})`;
  return `${count(shards.length, 'shard')}, ${pending}`;
}

/** One line an index: kind, segments and the rows outside of it. */
export function renderIndexes({ indexes }: InspectReport): string {
  const columns: Column[] = [
    { title: 'index' },
    { title: 'kind' },
    { title: 'columns' },
    { title: 'segments', align: 'right' },
    { title: 'rows outside', align: 'right' },
    { title: 'since' },
    { title: 'bytes', align: 'right' },
  ];
  const rows = indexes.map((index) => [
    index.name,
    index.kind,
    index.columns.join(', '),
    formatCount(index.segments),
    index.rowsOutside === 0 ? '0' : `${formatCount(index.rowsOutside)} (${Math.ceil(index.shareOutside * 100)} %)`,
    index.outsideSince ?? '-',
    size(index.bytes),
  ]);
  return renderTable(columns, rows);
}

/** `3, all rows` and the like: how many indexes there are, and the one that leaves the most rows outside. */
export function describeIndexes({ indexes }: { readonly indexes: readonly IndexLine[] }): string {
  if (indexes.length === 0) return 'none';
  const worst = [...indexes].sort((a, b) => b.rowsOutside - a.rowsOutside)[0];
  if (!worst?.rowsOutside) return `${indexes.length}, all rows`;
  return `${indexes.length}, ${worst.name} lacks ${count(worst.rowsOutside, 'row')}`;
}

function renderShards(shards: Shards): string {
  const columns: Column[] = [
    { title: 'shard' },
    { title: 'merged up to', align: 'right' },
    { title: 'pending', align: 'right' },
    { title: 'rows', align: 'right' },
    { title: 'bytes', align: 'right' },
    { title: 'oldest pending' },
  ];
  const rows = shards.map((shard) => [
    shard.shardId,
    formatCount(shard.watermark),
    formatCount(shard.pendingGenerations),
    formatCount(shard.pendingRows),
    size(shard.pendingBytes),
    shard.oldestPending ?? '-',
  ]);
  return renderTable(columns, rows);
}

export interface ExtraColumn {
  readonly title: string;
  cell(table: InspectReport): Cell;
}

/**
 * One line a table, each value as `before -> after` where it changed. `before` may lack a table that was not there or not readable.
 */
export function renderBeforeAfter(
  before: readonly InspectReport[],
  after: readonly InspectReport[],
  extra: readonly ExtraColumn[] = [],
): string {
  const names = tableNames(after.map((table) => table.target));
  const earlier = new Map(before.map((table) => [table.target, table]));
  const columns: Column[] = [
    { title: 'table' },
    { title: 'version' },
    { title: 'fragments' },
    { title: 'key index' },
    { title: 'indexes' },
    { title: 'pending generations' },
    { title: 'rows' },
    { title: 'bytes' },
    ...extra.map(({ title }) => ({ title })),
  ];
  const rows = after.map((table): Cell[] => {
    const was = earlier.get(table.target);
    const change = (show: (side: InspectReport) => string) => formatChange(was && show(was), show(table));
    return [
      names.get(table.target) ?? table.target,
      change((side) => String(side.version)),
      change((side) => formatCount(side.fragments)),
      change(describeKeyIndex),
      change(describeIndexes),
      change(describePending),
      change((side) => formatCount(side.rows)),
      change((side) => size(side.bytes)),
      ...extra.map((column) => column.cell(table)),
    ];
  });
  return renderTable(columns, rows);
}

function sum(shards: Shards, count: (shard: Shards[number]) => number): number {
  return shards.reduce((total, shard) => total + count(shard), 0);
}
