import { connect } from '@lancedb/lancedb';
import { measureInChild } from './child.ts';
import { median, milliseconds, table, targetAtLeast } from './figures.ts';
import type { Bench } from './main.ts';
import { benchRows, createBenchTable, range } from './tables.ts';

const CHECKS = 300;
const FRAGMENTS = 100;

/** "Is there a BTree that covers the key?", from the manifest alone and by LanceDB. */
export const gateBench: Bench = async (folder) => {
  const built = await createBenchTable(folder, 'gate', 100_000);
  built.close();
  const more = await (await connect(folder)).openTable('gate');
  for (let fragment = 1; fragment < FRAGMENTS; fragment += 1) {
    await more.add(benchRows(range(100_000 + fragment * 10, 100_010 + fragment * 10), fragment));
  }
  more.close();
  const ours = await measureInChild('gate-ours', [`${folder}/gate.lance`, String(CHECKS)]);
  const plain = await measureInChild('gate-plain', [`${folder}/gate.lance`, String(CHECKS)]);
  const warm = (times: readonly number[]) => median(times.slice(20));
  return [
    `A table of ${FRAGMENTS} fragments, median of ${CHECKS - 20} checks after 20 to warm up, each answer from the newest version.`,
    table(
      ['check', 'time', 'first'],
      [
        ['manifest', milliseconds(warm(ours.timesMs)), milliseconds(ours.timesMs[0] ?? 0)],
        ['openTable + listIndices', milliseconds(warm(plain.timesMs)), milliseconds(plain.timesMs[0] ?? 0)],
      ],
    ),
    targetAtLeast('faster than openTable + listIndices', warm(plain.timesMs) / warm(ours.timesMs), 20),
  ].join('\n\n');
};
