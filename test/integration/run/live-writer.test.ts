import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { openUpkeep } from '../../../src/local/open-upkeep.ts';
import type { InspectReport, RunReport, TaskReport } from '../../../src/upkeep/reports.ts';
import { commandJson, type Running, start, startCommand } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, readRows, row, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const KEYS = 300;
/** Enough of everything that can get in each other's way. */
const ENOUGH = { generations: 60, reads: 60, merges: 12, drained: 40 };
/** Impatient settings, so that a few seconds hold many merges, compactions and removals. */
const eager = {
  MERGE_WAL_INTERVAL: '1',
  MERGE_WAL_TAIL_INTERVAL: '2',
  COMPACTION_INTERVAL: '3',
  MIN_FRAGMENTS: '4',
  GENERATION_RETENTION: '5',
};

function drainedBy(tasks: readonly TaskReport[]): number {
  return tasks.reduce((sum, task) => sum + (task.result?.metrics.merge_wal_entries_drained ?? 0), 0);
}

/** Looks into the ledger of the watching runner after each merge, until enough was merged, and enough of that removed again. */
async function enoughMerged(ledgerFile: string, watch: Running): Promise<void> {
  const upkeep = await openUpkeep({ roots: [], ledgerFile, settings: loadSettings({}) });
  try {
    for (let merges = ENOUGH.merges; ; merges += 1) {
      await watch.saysOften('done     MergeWal', merges);
      const { tasks } = await upkeep.history({ limit: 1000 });
      if (drainedBy(tasks) >= ENOUGH.drained || watch.child.exitCode !== null) return;
    }
  } finally {
    await upkeep.close();
  }
}

it('while a writer upserts and closes generations, the watching runner keeps merging; nobody sees an error or a wrong row', async () => {
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
    String(KEYS * 2),
    `${folder}/flushed.json`,
    `${folder}/written`,
  ]);
  const reader = start('test/processes/reader.ts', [target, `${folder}/flushed.json`, `${folder}/stop`]);

  await Promise.all([
    writer.saysOften('generation ', ENOUGH.generations),
    reader.saysOften('read ', ENOUGH.reads),
    enoughMerged(ledger, watch),
  ]);
  writeFileSync(`${folder}/written`, '');
  const written = JSON.parse((await writer.ended).stdout) as { generations: number; error: string | null };
  writeFileSync(`${folder}/stop`, '');
  const read = JSON.parse((await reader.ended).stdout) as { reads: number; wrong: string[] };
  watch.child.kill('SIGINT');
  const watched = await watch.ended;
  const report = JSON.parse(watched.stdout) as RunReport;

  expect(written.error).toBeNull();
  expect(written.generations).toBeGreaterThanOrEqual(ENOUGH.generations);
  expect(read.wrong).toEqual([]);
  expect(read.reads).toBeGreaterThanOrEqual(ENOUGH.reads);
  expect(watched.code).toBe(130);
  const merges = report.tasks.filter((task) => task.kind === 'MergeWal' && task.state === 'done');
  expect(merges.length).toBeGreaterThanOrEqual(ENOUGH.merges);
  expect(report.tasks.some((task) => task.kind === 'Compact' && task.state === 'done')).toBe(true);
  expect(report.tasks.filter((task) => task.state === 'failed')).toEqual([]);
  expect(drainedBy(merges)).toBeGreaterThanOrEqual(ENOUGH.drained);

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
});
