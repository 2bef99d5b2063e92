import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { InspectReport, RunReport } from '../../../src/plane.ts';
import { commandJson, start, startCommand } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, readRows, row, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const KEYS = 300;
const RUN_MS = 60_000;
/** Impatient settings, so that a minute holds many merges, compactions and removals. */
const eager = {
  MERGE_WAL_INTERVAL: '1',
  MERGE_WAL_TAIL_INTERVAL: '2',
  COMPACTION_INTERVAL: '3',
  MIN_FRAGMENTS: '4',
  GENERATION_RETENTION: '5',
};

test('while a writer upserts and closes generations for a minute, the watching plane keeps merging; nobody sees an error or a wrong row', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/live.lance`;
  const ledger = `${folder}/ledger.sqlite`;
  const table = await createPlainTable(`${folder}/db`, 'live', rows(0, KEYS, 0), 3);
  await enableWal(table);
  table.close();

  const watch = startCommand(['run', `${folder}/db`, '--watch', '--json', '--ledger', ledger], eager);
  const writer = start('test/processes/lsm-writer.ts', [
    `${folder}/db`,
    'live',
    String(RUN_MS),
    String(KEYS * 2),
    `${folder}/flushed.json`,
  ]);
  const reader = start('test/processes/reader.ts', [target, `${folder}/flushed.json`, `${folder}/stop`]);

  const written = JSON.parse((await writer.ended).stdout) as { generations: number; error: string | null };
  writeFileSync(`${folder}/stop`, '');
  const read = JSON.parse((await reader.ended).stdout) as { reads: number; wrong: string[] };
  watch.child.kill('SIGINT');
  const watched = await watch.ended;
  const report = JSON.parse(watched.stdout) as RunReport;

  expect(written.error).toBeNull();
  expect(written.generations).toBeGreaterThan(20);
  expect(read.wrong).toEqual([]);
  expect(read.reads).toBeGreaterThan(20);
  expect(watched.code).toBe(130);
  const merges = report.tasks.filter((task) => task.kind === 'MergeWal' && task.state === 'done');
  expect(merges.length).toBeGreaterThan(5);
  expect(report.tasks.filter((task) => task.state === 'failed')).toEqual([]);
  const drained = merges.reduce((sum, task) => sum + (task.result?.metrics.merge_wal_entries_drained ?? 0), 0);
  expect(drained).toBeGreaterThan(0);

  const quiet = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger]);
  expect(quiet.code).toBe(0);
  const flushed = JSON.parse(readFileSync(`${folder}/flushed.json`, 'utf8')) as Record<string, number>;
  const expected = new Map(rows(0, KEYS, 0).map((r) => [r.id, r]));
  for (const [id, n] of Object.entries(flushed)) expected.set(id, row(Number(id.slice(4)), n));
  for (const lsm of [true, false]) {
    const seen = await readRows(target, { lsm });
    expect(seen.size).toBe(expected.size);
    for (const [id, r] of expected) expect(seen.get(id)).toEqual({ ...r, n: BigInt(r.n) });
  }
  const { report: inspected } = await commandJson<InspectReport>(['inspect', target, '--ledger', ledger]);
  expect(inspected.wal?.shards).toMatchObject([{ pendingGenerations: 0, watermark: written.generations }]);
  process.stderr.write(
    `live: ${written.generations} generations, ${merges.length} merges, ${drained} drained, ${read.reads} reads\n`,
  );
});
