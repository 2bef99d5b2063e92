import { cpSync } from 'node:fs';
import { setTimeout as elapse } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import { expect, test } from 'vitest';
import type { HistoryReport, InspectReport, RunReport } from '../../../src/plane.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, flushGeneration, readRows, row, rows, sorted } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const KILLS = 50;
/** Small steps, so that there is always something to be killed in. */
const settings = { MERGE_MAX_GENERATIONS: '2', MIN_FRAGMENTS: '3', GENERATION_RETENTION: '0' };

test('a runner killed 50 times at random moments, then one quiet run, ends in the same state as one that never was', async () => {
  const folder = temporaryFolder();
  const killed = `${folder}/killed`;
  const quiet = `${folder}/quiet`;
  const table = await createPlainTable(killed, 'store', rows(0, 400, 0), 12);
  await enableWal(table);
  const layer = (generation: number) => [
    ...rows(generation * 5, generation * 5 + 30, generation),
    row(7000 + generation, generation),
  ];
  for (let generation = 1; generation <= 20; generation += 1) await flushGeneration(table, layer(generation));
  cpSync(killed, quiet, { recursive: true });
  const twin = await (await connect(quiet)).openTable('store');

  const ledger = `${folder}/killed.sqlite`;
  const seed = Number(process.env.KILL_SEED ?? 20261201);
  let state = seed;
  let ends = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    // Something new for each runner, so that none is killed at rest.
    for (const one of [table, twin]) await flushGeneration(one, layer(21 + kill));
    const runner = startCommand(['run', killed, '--watch', '--ledger', ledger], settings);
    // A random moment is the point here: some before the first statement, most in the middle of the work.
    if (kill % 5 !== 0) await runner.says('started');
    await elapse((state >>> 8) % 800);
    runner.child.kill('SIGKILL');
    if ((await runner.ended).signal !== 'SIGKILL') ends += 1;
  }
  expect(ends).toBe(0);

  const report = async (root: string, file: string) => {
    const run = await commandJson<RunReport>(['run', root, '--once', '--ledger', file], settings);
    // A task that lost eight holders in a row ends for good; the next one does its work.
    const notDone = run.report.tasks.filter((task) => task.state !== 'done' && task.error?.code !== 'HOLDER_LOST');
    expect({ seed, notDone }).toEqual({ seed, notDone: [] });
    return (await commandJson<InspectReport>(['inspect', `${root}/store.lance`, '--ledger', file], settings)).report;
  };
  const after = await report(killed, ledger);
  const history = await commandJson<HistoryReport>(['history', '--limit', '1000', '--ledger', ledger]);
  const interrupted = history.report.tasks.filter((task) => task.attempts > 1);
  expect(interrupted.length).toBeGreaterThan(5);
  const undisturbed = await report(quiet, `${folder}/quiet.sqlite`);
  expect(withoutItsWay(after)).toEqual(withoutItsWay(undisturbed));
  for (const one of [after, undisturbed]) {
    expect(one).toMatchObject({
      keyIndex: { kind: 'BTree', uncoveredFragments: 0 },
      wal: { shards: [{ watermark: 20 + KILLS, pendingGenerations: 0 }] },
    });
    expect(one.fragments).toBeLessThan(4);
  }
  const wanted = sorted(await readRows(`${quiet}/store.lance`, { lsm: false }));
  for (const lsm of [true, false]) expect(sorted(await readRows(`${killed}/store.lance`, { lsm }))).toEqual(wanted);
}, 600_000);

/** What does not depend on how many commits it took to get there, and when. */
function withoutItsWay(report: InspectReport) {
  const way = { target: '', version: 0, bytes: 0, fragments: 0, smallFragments: 0, keyIndex: null };
  return { ...report, ...way, versions: { ...report.versions, count: 0, countedAt: '', oldest: '' } };
}
