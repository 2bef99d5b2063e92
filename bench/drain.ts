import { cpSync } from 'node:fs';
import type { Bench } from './bench.ts';
import { type Measured, measureInChild } from './child.ts';
import { milliseconds, peak, table, target, targetAtLeast } from './figures.ts';
import { createBenchTable, flushRows, range } from './tables.ts';

const GENERATIONS = 200;
const FEWER = 50;
const ROWS = 200;
const BASE_ROWS = 100_000;

/** A backlog of generations, drained by the passes of MergeWal and by one mergeInsert per generation. */
export const drainBench: Bench = async (folder) => {
  const built = await createBenchTable(`${folder}/plain`, 'wal', BASE_ROWS);
  for (let generation = 0; generation < GENERATIONS; generation += 1) {
    if (generation === FEWER) cpSync(`${folder}/plain`, `${folder}/fewer`, { recursive: true });
    // Each overlaps half of the one before.
    await flushRows(
      built,
      range(BASE_ROWS - 500 + generation * 100, BASE_ROWS - 500 + generation * 100 + ROWS),
      generation,
    );
  }
  built.close();
  for (const copy of ['eight', 'all']) cpSync(`${folder}/plain`, `${folder}/${copy}`, { recursive: true });

  const ours = async (copy: string, maxGenerations: number): Promise<Measured> => {
    process.env.MERGE_MAX_GENERATIONS = String(maxGenerations);
    return measureInChild('drain-ours', [`${folder}/${copy}/wal.lance`]);
  };
  const few = await ours('fewer', 8);
  const eight = await ours('eight', 8);
  const wide = await ours('all', 32);
  const plain = await measureInChild('drain-plain', [`${folder}/plain/wal.lance`]);
  const row = (label: string, generations: number, measured: Measured) => [
    label,
    String(generations),
    String(measured.facts.commits),
    milliseconds(measured.timesMs[0] ?? 0),
    peak(measured),
    String(measured.facts.rows),
  ];
  const commits = (measured: Measured) => measured.facts.commits ?? Number.NaN;
  const time = (measured: Measured) => measured.timesMs[0] ?? Number.NaN;
  return [
    `${GENERATIONS} generations of ${ROWS} rows over a base of ${BASE_ROWS.toLocaleString('en')} rows with the BTree. Plain LanceDB here leaves out the watermark, without which readers keep preferring the generations for ever; with it, it would make two commits a generation.`,
    table(
      ['way', 'generations', 'commits', 'time', 'peak', 'rows after'],
      [
        row('MergeWal, MERGE_MAX_GENERATIONS=8 (default)', GENERATIONS, eight),
        row('MergeWal, MERGE_MAX_GENERATIONS=8 (default)', FEWER, few),
        row('MergeWal, MERGE_MAX_GENERATIONS=32', GENERATIONS, wide),
        row('one mergeInsert per generation, no watermark', GENERATIONS, plain),
      ],
    ),
    targetAtLeast('fewer commits with 32 generations a pass', commits(plain) / commits(wide), 5),
    targetAtLeast(
      'fewer commits with 8 generations a pass (two commits a pass: at most 4 to 1 can be had)',
      commits(plain) / commits(eight),
      5,
    ),
    targetAtLeast('faster, 8 generations a pass', time(plain) / time(eight), 1),
    targetAtLeast('faster, 32 generations a pass', time(plain) / time(wide), 1),
    target(
      `peak memory with ${GENERATIONS} against ${FEWER} generations waiting`,
      eight.peakBytes / few.peakBytes,
      1.2,
    ),
  ].join('\n\n');
};
