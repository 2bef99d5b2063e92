import { type Measured, measureInChild } from './child.ts';
import { median, milliseconds, peak, table, target } from './figures.ts';
import type { Bench } from './main.ts';
import { createBenchTable, flushRows, halfUpdates } from './tables.ts';

const SIZES = [100_000, 1_000_000, 5_000_000];
const ROUNDS = 7;

/** 500 rows, half of them updates, into tables of growing size, beside LanceDB's own join without the index. */
export const mergeBench: Bench = async (folder) => {
  process.env.MERGE_MAX_GENERATIONS = '1';
  const results: { size: number; ours: Measured; plain: Measured }[] = [];
  for (const size of SIZES) {
    const name = `rows${size}`;
    const built = await createBenchTable(folder, name, size);
    for (let round = 1; round <= ROUNDS; round += 1) await flushRows(built, halfUpdates(size, round), round);
    built.close();
    const path = `${folder}/${name}.lance`;
    const ours = await measureInChild('merge-ours', [path]);
    const plain = await measureInChild('merge-plain', [path, String(size), String(ROUNDS)]);
    results.push({ size, ours, plain });
  }
  const [small, , large] = results;
  if (!small || !large) throw new Error('no results');
  const rows = results.map(({ size, ours, plain }) => [
    size.toLocaleString('en'),
    milliseconds(median(ours.timesMs)),
    peak(ours),
    milliseconds(median(plain.timesMs)),
    peak(plain),
  ]);
  return [
    `500 rows (250 updates, 250 new, 16-character keys, 200 bytes of payload) per merge, median of ${ROUNDS}; peak memory of the whole process. A merge of ours is the whole task: gate, keys, merge commit, watermark commit, proof.`,
    table(['base rows', 'MergeWal', 'peak', 'mergeInsert, useIndex(false)', 'peak'], rows),
    target('time at 5,000,000 against 100,000 rows', median(large.ours.timesMs) / median(small.ours.timesMs), 1.5),
    target('peak memory at 5,000,000 against 100,000 rows', large.ours.peakBytes / small.ours.peakBytes, 1.2),
  ].join('\n\n');
};
