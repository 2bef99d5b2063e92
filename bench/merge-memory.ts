import { randomBytes } from 'node:crypto';
import { connect, Index } from '@lancedb/lancedb';
import { arrow } from '../src/work/arrow.ts';
import type { Bench } from './bench.ts';
import { measureInChild } from './child.ts';
import { mebibytes, milliseconds, peak, table } from './figures.ts';
import { createBenchTable, flushRows, range } from './tables.ts';

const MIB = 1024 ** 2;
const LIMIT = 700_000_000;
const WRITE_ROWS = 32;

const schema = new arrow.Schema([
  new arrow.Field('id', new arrow.Utf8(), false),
  new arrow.Field('payload', new arrow.Binary(), true),
]);

/** Rows of 1 MiB of noise. */
function wideRows(from: number, to: number) {
  const length = to - from;
  const valueOffsets = Int32Array.from({ length: length + 1 }, (_, index) => index * MIB);
  const data = randomBytes(length * MIB);
  const payload = arrow.makeData({ type: new arrow.Binary(), length, nullCount: 0, valueOffsets, data });
  const ids = range(from, to).map((n) => `key-${n}`);
  return new arrow.Table(schema, {
    id: arrow.vectorFromArray(ids, new arrow.Utf8()),
    payload: arrow.makeVector(payload),
  } as never) as never;
}

/** Generations of `rows` rows of 1 MiB over a base of 100 such rows, half of which the first of them updates. */
async function createWideTable(folder: string, name: string, generations: number, rows: number): Promise<void> {
  const built = await (await connect(folder)).createEmptyTable(name, schema as never);
  for (let at = 0; at < 100; at += WRITE_ROWS) await built.add(wideRows(at, Math.min(100, at + WRITE_ROWS)));
  await built.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await built.setUnenforcedPrimaryKey('id');
  const sizes = { max_memtable_size: String(2 * 1024 * MIB), max_unflushed_memtable_bytes: String(3 * 1024 * MIB) };
  await built.setLsmWriteSpec({ specType: 'unsharded', writerConfigDefaults: sizes });
  for (let generation = 0; generation < generations; generation += 1) {
    const first = 50 + generation * rows;
    for (let at = first; at < first + rows; at += WRITE_ROWS) {
      const merge = built.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll();
      await merge.execute(wideRows(at, Math.min(first + rows, at + WRITE_ROWS)));
    }
    await built.closeLsmWriters();
  }
  built.close();
}

/** What a merge costs in memory as the waiting bytes grow, and 200,000 small rows beside it. */
export const mergeMemoryBench: Bench = async (folder) => {
  await createWideTable(folder, 'eight', 8, 20);
  await createWideTable(folder, 'huge', 1, 600);
  await createWideTable(folder, 'gibibyte', 8, 128);
  const small = await createBenchTable(folder, 'small', 100_000);
  for (let generation = 0; generation < 8; generation += 1) {
    await flushRows(small, range(50_000 + generation * 25_000, 75_000 + generation * 25_000), generation);
  }
  small.close();
  const tables = [
    ['eight', '160 rows of 1 MiB in 8 generations'],
    ['huge', '600 rows of 1 MiB in one generation'],
    ['gibibyte', '1,024 rows of 1 MiB in 8 generations'],
    ['small', '200,000 rows of 200 bytes in 8 generations'],
  ] as const;
  const rows: string[][] = [];
  const misses: string[] = [];
  for (const [name, what] of tables) {
    const measured = await measureInChild('drain-ours', [`${folder}/${name}.lance`]);
    rows.push([what, String(measured.facts.commits), milliseconds(measured.timesMs[0] ?? 0), peak(measured)]);
    const met = measured.peakBytes <= LIMIT;
    if (name !== 'small') misses.push(`- ${what}: peak at most ${mebibytes(LIMIT)}: ${met ? 'met' : '**missed**'}.`);
  }
  return [
    'Everything that waits, merged at the default settings (MERGE_SLICE_BYTES 8 MiB, MERGE_MAX_BYTES 256 MiB), over a base of 100 rows of 1 MiB, or of 100,000 small rows with the BTree. Commits count the watermarks. Peak memory of the whole process, with the allocator as the launcher sets it.',
    table(['waiting', 'commits', 'time', 'peak'], rows),
    misses.join('\n\n'),
  ].join('\n\n');
};
