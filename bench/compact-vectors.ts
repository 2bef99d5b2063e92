import { rm } from 'node:fs/promises';
import { connect } from '@lancedb/lancedb';
import { type Measured, measureInChild } from './child.ts';
import { mebibytes, milliseconds, peak, table, target, times } from './figures.ts';
import { appendFragments, createVectorTable, linkTable, ROWS_A_FRAGMENT } from './vector-tables.ts';

const MEBIBYTE = 1024 ** 2;
/** 1 GB and 3 GB. */
const SIZES = [13, 39] as const;
const GROUPS = [256, 512, 1024] as const;
const TAIL = { fragments: 6, rowsEach: 2_000 } as const;

interface Run {
  readonly fragments: number;
  readonly what: string;
  readonly measured: Measured;
}

/** Tables that people search, far above COMPACT_MAX_BYTES: the bounded strategy behind a hold, and the upkeep of indexes alone. */
export async function vectorSection(folder: string): Promise<string> {
  const bounded: Run[] = [];
  const upkeep: Run[] = [];
  for (const fragments of SIZES) {
    const original = `${folder}/vectors${fragments}`;
    await createVectorTable(folder, `vectors${fragments}`, fragments);
    for (const group of GROUPS) {
      const measured = await onCopy(folder, original, 'compact-groups', {
        COMPACT_MAX_BYTES: String(group * MEBIBYTE),
        MIN_FRAGMENTS: '2',
      });
      bounded.push({ fragments, what: `${group} MiB`, measured });
    }
    upkeep.push({ fragments, what: 'OptimizeIndices', measured: await onCopy(folder, original, 'extend-indexes', {}) });
    await rm(`${original}.lance`, { recursive: true });
  }
  const of = (runs: readonly Run[], fragments: number, what: string) => {
    const run = runs.find((one) => one.fragments === fragments && one.what === what);
    if (!run) throw new Error(`no result for ${what}`);
    return run.measured;
  };
  const [small, large] = SIZES;
  const growth = (runs: readonly Run[], what: string) =>
    of(runs, large, what).peakBytes / of(runs, small, what).peakBytes;
  return [
    `Tables that people search: ${ROWS_A_FRAGMENT.toLocaleString('en')} rows a fragment of 768 floats and 15 words each, BTree, full-text index and IVF_PQ over every row. All small fragments are compacted, group by group behind a hold; "allowed" is the data of every group plus all indexes once for each group, since LanceDB writes an index anew when it remaps it. Written is the bytes of all files that are new in the table, temporary what went to other files, which are gone. The allocator is set as the launcher and the stack set it.`,
    table(
      [
        'table',
        'COMPACT_MAX_BYTES',
        'fragments',
        'commits',
        'written',
        'of allowed',
        'temporary',
        'time',
        'time a commit',
        'peak',
      ],
      bounded.map(({ fragments, what, measured: { facts, timesMs, ...measured } }) => [
        mebibytes(facts.bytes ?? 0),
        what,
        `${fragments} -> ${facts.fragmentsAfter}`,
        String(facts.commits),
        mebibytes(facts.written ?? 0),
        times(share(facts)),
        mebibytes(facts.temporary ?? 0),
        milliseconds(total(timesMs)),
        milliseconds(total(timesMs) / (facts.commits ?? 1)),
        peak({ facts, timesMs, ...measured }),
      ]),
    ),
    `OptimizeIndices after ${TAIL.fragments} appended fragments of ${TAIL.rowsEach.toLocaleString('en')} rows; "allowed" is all indexes once:`,
    table(
      ['table', 'rows outside', 'written', 'of allowed', 'temporary', 'time', 'peak'],
      upkeep.map(({ measured: { facts, timesMs, ...measured } }) => [
        mebibytes(facts.bytes ?? 0),
        `${facts.rowsOutside} -> ${facts.rowsOutsideAfter}`,
        mebibytes(facts.written ?? 0),
        times(share(facts)),
        mebibytes(facts.temporary ?? 0),
        milliseconds(total(timesMs)),
        peak({ facts, timesMs, ...measured }),
      ]),
    ),
    ...GROUPS.map((group) =>
      target(`peak memory with 3 GB against 1 GB, groups of ${group} MiB`, growth(bounded, `${group} MiB`), 1.2),
    ),
    target('peak memory with 3 GB against 1 GB, OptimizeIndices', growth(upkeep, 'OptimizeIndices'), 1.2),
    target(
      'bytes written against the groups’ data plus the indexes, the worst',
      Math.max(...bounded.map(({ measured }) => share(measured.facts))),
      1.05,
    ),
    target(
      'bytes written against the indexes, OptimizeIndices, the worst',
      Math.max(...upkeep.map(({ measured }) => share(measured.facts))),
      1.05,
    ),
  ].join('\n\n');
}

async function onCopy(folder: string, original: string, measurement: string, environment: Record<string, string>) {
  const copy = `${folder}/copy`;
  await linkTable(`${original}.lance`, `${copy}.lance`);
  if (measurement === 'extend-indexes') {
    const opened = await (await connect(folder)).openTable('copy');
    await appendFragments(opened, 50_000_000, TAIL.fragments, TAIL.rowsEach);
    opened.close();
  }
  const measured = await measureInChild(measurement, [`${copy}.lance`], {
    environment,
  });
  await rm(`${copy}.lance`, { recursive: true });
  return measured;
}

function share(facts: Measured['facts']): number {
  return (facts.written ?? 0) / (facts.allowed ?? Number.NaN);
}

function total(timesMs: readonly number[]): number {
  return timesMs.reduce((sum, time) => sum + time, 0);
}
