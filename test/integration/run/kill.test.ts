import { cpSync } from 'node:fs';
import { setTimeout as elapse } from 'node:timers/promises';
import { connect, type Table } from '@lancedb/lancedb';
import { expect, it } from 'vitest';
import type { HistoryReport, InspectReport, RunReport } from '../../../src/upkeep/reports.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, flushGeneration, readRows, row, rows, sorted } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const KILLS_EACH = 25;
const BEFORE = 20;
/** Small steps, so that there is always something to be killed in. */
const settings = { MERGE_MAX_GENERATIONS: '2', MIN_FRAGMENTS: '3', GENERATION_RETENTION: '0' };

function layer(generation: number) {
  return [...rows(generation * 5, generation * 5 + 30, generation), row(7000 + generation, generation)];
}

async function openStore(root: string): Promise<Table> {
  return (await connect(root)).openTable('events');
}

/** Something new for each runner, so that none is killed at rest; answers how many ended by themselves. */
async function killAgainAndAgain(root: string, seed: number): Promise<number> {
  const table = await openStore(root);
  let state = seed;
  let ends = 0;
  for (let kill = 0; kill < KILLS_EACH; kill += 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    await flushGeneration(table, layer(BEFORE + 1 + kill));
    const runner = startCommand(['run', root, '--watch', '--ledger', `${root}.sqlite`], settings);
    // A random moment is the point here: some before the first statement, most in the middle of the work.
    if (kill % 5 !== 0) await runner.says('started');
    await elapse((state >>> 8) % 800);
    runner.child.kill('SIGKILL');
    if ((await runner.ended).signal !== 'SIGKILL') ends += 1;
  }
  table.close();
  return ends;
}

/** What one quiet run and then `inspect` say. */
async function quietRun(root: string): Promise<InspectReport> {
  const ledger = `${root}.sqlite`;
  const run = await commandJson<RunReport>(['run', root, '--once', '--ledger', ledger], settings);
  // A task that lost eight holders in a row ends for good; the next one does its work.
  const notDone = run.report.tasks.filter((task) => task.state !== 'done' && task.error?.code !== 'HOLDER_LOST');
  expect(notDone).toEqual([]);
  return (await commandJson<InspectReport>(['inspect', `${root}/events.lance`, '--ledger', ledger], settings)).report;
}

it('runners killed 50 times at random moments, then one quiet run, end in the same state as one that never was', async () => {
  const folder = temporaryFolder();
  const quiet = `${folder}/quiet`;
  const table = await createPlainTable(quiet, 'events', rows(0, 400, 0), 12);
  await enableWal(table);
  for (let generation = 1; generation <= BEFORE; generation += 1) await flushGeneration(table, layer(generation));
  const killed = [`${folder}/killed`, `${folder}/killed-too`];
  for (const root of killed) cpSync(quiet, root, { recursive: true });

  const seed = Number(process.env.KILL_SEED ?? 20261201);
  const ends = await Promise.all(killed.map((root, index) => killAgainAndAgain(root, seed + index)));
  expect({ seed, ends }).toEqual({ seed, ends: [0, 0] });

  for (let kill = 0; kill < KILLS_EACH; kill += 1) await flushGeneration(table, layer(BEFORE + 1 + kill));
  const undisturbed = await quietRun(quiet);
  const wanted = sorted(await readRows(`${quiet}/events.lance`, { lsm: false }));
  for (const root of killed) {
    const after = await quietRun(root);
    expect(withoutItsStrategy(after)).toEqual(withoutItsStrategy(undisturbed));
    for (const one of [after, undisturbed]) {
      expect(one).toMatchObject({
        keyIndex: { kind: 'BTree', uncoveredFragments: 0 },
        wal: { shards: [{ watermark: BEFORE + KILLS_EACH, pendingGenerations: 0 }] },
      });
      expect(one.fragments).toBeLessThan(4);
    }
    const ledger = `${root}.sqlite`;
    const history = await commandJson<HistoryReport>(['history', '--limit', '1000', '--ledger', ledger]);
    const interrupted = history.report.tasks.filter((task) => task.attempts > 1);
    expect(interrupted.length).toBeGreaterThan(2);
    for (const lsm of [true, false]) expect(sorted(await readRows(`${root}/events.lance`, { lsm }))).toEqual(wanted);
  }
}, 600_000);

/** What does not depend on how many commits it took to get there, and when. */
function withoutItsStrategy(report: InspectReport) {
  const way = { target: '', version: 0, bytes: 0, fragments: 0, smallFragments: 0, keyIndex: null };
  return { ...report, ...way, versions: { ...report.versions, count: 0, countedAt: '', oldest: '' } };
}
