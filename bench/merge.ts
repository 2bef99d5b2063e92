import type { Bench } from './bench.ts';
import { type Measured, measureInChild } from './child.ts';
import { median, milliseconds, peak, table, target } from './figures.ts';
import { createBenchTable, flushRows, type KeyOrder, rowsOfRound } from './tables.ts';

const SIZES = [100_000, 1_000_000, 5_000_000];
const ROUNDS = 7;

/** 500 rows, half of them updates, into tables of growing size, beside LanceDB's own join without the index. */
export const mergeBench: Bench = async (folder) => {
  process.env.MERGE_MAX_GENERATIONS = '1';
  const sections = [
    `500 rows (250 updates, 250 new, 16-character keys, 200 bytes of payload) per merge, median of ${ROUNDS}; peak memory of the whole process. A merge of ours is the whole task: gate, keys, check of the base, merge commit, watermark commit, proof.`,
  ];
  for (const order of ['rising', 'scattered'] as const) sections.push(...(await mergeIntoSizes(folder, order)));
  return [...sections, PROFILE].join('\n\n');
};

async function mergeIntoSizes(folder: string, order: KeyOrder): Promise<string[]> {
  const results: { size: number; ours: Measured; plain: Measured }[] = [];
  for (const size of SIZES) {
    const name = `${order}${size}`;
    const built = await createBenchTable(folder, name, size, order);
    for (let round = 1; round <= ROUNDS; round += 1) {
      await flushRows(built, rowsOfRound(order, size, round), round, order);
    }
    built.close();
    const path = `${folder}/${name}.lance`;
    const ours = await measureInChild('merge-ours', [path]);
    const plain = await measureInChild('merge-plain', [path, String(size), String(ROUNDS), order]);
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
  const spread =
    order === 'rising'
      ? 'Keys that rise with time, updates among the newest 20,000 rows:'
      : 'Keys scattered over the whole index, the worst case: every key another index page:';
  return [
    spread,
    table(['base rows', 'MergeWal', 'peak', 'mergeInsert, useIndex(false)', 'peak'], rows),
    target('time at 5,000,000 against 100,000 rows', median(large.ours.timesMs) / median(small.ours.timesMs), 1.5),
    target('peak memory at 5,000,000 against 100,000 rows', large.ours.peakBytes / small.ours.peakBytes, 1.2),
  ];
}

const PROFILE = `Profile at 5,000,000 rows with scattered keys, in one process: the check of the base takes 200 to 500 ms while index pages are still
unread and 20 ms once they are in the cache; the merge commit 46 to 50 ms against 30 ms at 100,000 rows. What grows is LanceDB's reading of
BTree pages, one for nearly every key; nothing in a merge reads the base table itself. Counting through the index in place of reading the keys
back made the check after the merge cheaper and is used; the check before it has to see the keys to name one that stands twice.`;
