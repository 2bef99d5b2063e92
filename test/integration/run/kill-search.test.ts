import { setTimeout as elapse } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { holdIn } from '../../../src/lance/hold.ts';
import type { RunReport } from '../../../src/upkeep/reports.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import { contentOf, expectedAnswers, indexesBehind, readContent } from '../../fixtures/expected-answers.ts';
import {
  answers,
  createSearchTable,
  openAnew,
  type SearchRow,
  searchRow,
  searchRows,
} from '../../fixtures/search-table.ts';
import { headOf, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const KILLS_EACH = 25;
const FRAGMENTS = 12;
const ROWS_EACH = 80;
/** Always something to do, and no pause after a lost holder. */
const eager = {
  MIN_FRAGMENTS: '3',
  INDEX_MAX_ROWS_OUTSIDE: '1',
  MERGE_MAX_GENERATIONS: '2',
  GENERATION_RETENTION: '0',
  TASK_COOLDOWN_AFTER_FAILURES: '100',
};

/** A repeatable stream of numbers from 0 to 16,777,215. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 8;
  };
}

/** Three small fragments, an upsert and a deletion: the same for each step, and what the table must hold then. */
async function write(target: string, rows: Map<string, SearchRow>, step: number): Promise<void> {
  const table = await openAnew(target);
  const appended = searchRows(5000 + step * 12, 5012 + step * 12);
  for (let at = 0; at < appended.length; at += 4) await table.add(appended.slice(at, at + 4) as never);
  const changed = [searchRow(42, 20_000 + step), searchRow(step * 7 + 1, 21_000 + step), searchRow(9000 + step)];
  await upsert(table).execute(changed as never);
  await table.closeLsmWriters();
  const gone = `key-${String(500 + step).padStart(6, '0')}`;
  await table.delete(`id = '${gone}'`);
  table.close();
  for (const row of [...appended, ...changed]) rows.set(row.id, row);
  rows.delete(gone);
}

/** Kills runner after runner, each with something new to do, then runs once in quiet. Answers how many kills left a hold behind. */
async function killAgainAndAgain(folder: string, way: 'base table' | 'MemWAL', seed: number): Promise<number> {
  const target = `${folder}/db/t.lance`;
  const ledger = `${folder}/ledger.sqlite`;
  const table = await createSearchTable(`${folder}/db`, 't', {
    fragments: FRAGMENTS,
    rowsEach: ROWS_EACH,
    vectorIndex: 'IVF_FLAT',
  });
  const rows = new Map(searchRows(0, FRAGMENTS * ROWS_EACH).map((row) => [row.id, row]));
  if (way === 'MemWAL') {
    await table.setUnenforcedPrimaryKey('id');
    const maintainedIndexes = ['id_idx', 'text_idx', 'vector_idx'];
    await table.setLsmWriteSpec({ specType: 'unsharded', maintainedIndexes });
  }
  table.close();
  const { dataBytes } = await headOf(target);
  const settings = {
    ...eager,
    COMPACT_MAX_BYTES: String(Math.ceil((dataBytes * 3.5) / 9)),
    TARGET_FRAGMENT_BYTES: String(dataBytes * 10),
  };

  const next = randomNumbers(seed);
  let holdsLeft = 0;
  for (let kill = 0; kill < KILLS_EACH; kill += 1) {
    await write(target, rows, kill);
    const held = holdIn(await headOf(target)) !== undefined;
    const runner = startCommand(['run', `${folder}/db`, '--watch', '--ledger', ledger], settings);
    // Some die before their first statement, most in the middle of the work.
    if (kill % 5 !== 0) await runner.says('started');
    await elapse(next() % 500);
    runner.child.kill('SIGKILL');
    const { signal, stderr } = await runner.ended;
    expect(signal, stderr).toBe('SIGKILL');
    if (held && stderr.includes('started')) expect(stderr).toContain('left its hold on fragments behind');
    if (holdIn(await headOf(target)) !== undefined) holdsLeft += 1;
  }
  await write(target, rows, KILLS_EACH);

  const quiet = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger], settings);
  // A task that lost eight holders in a row ends for good; the next one does its work.
  const notDone = quiet.report.tasks.filter(({ state, error }) => state !== 'done' && error?.code !== 'HOLDER_LOST');
  expect(notDone).toEqual([]);
  const after = await headOf(target);
  expect(holdIn(after)).toBeUndefined();
  expect(await indexesBehind(target)).toEqual([]);
  expect(after.fragments.length).toBeLessThan(FRAGMENTS);
  for (const lsm of way === 'MemWAL' ? [true, false] : [false]) {
    expect(await readContent(target, { lsm })).toEqual(contentOf(rows.values()));
  }
  expect(await answers(await openAnew(target), { base: true })).toEqual(expectedAnswers(rows.values()));
  return holdsLeft;
}

it('runners of two tables that people search, killed 50 times at random moments, leave holds behind that the next ones heal, and in the end every row in every index', async () => {
  const seed = Number(process.env.KILL_SEED ?? 20261201);
  const folder = temporaryFolder();
  const [base, memWal] = await Promise.all([
    killAgainAndAgain(`${folder}/base`, 'base table', seed),
    killAgainAndAgain(`${folder}/wal`, 'MemWAL', seed + 1),
  ]);
  process.stderr.write(`killed: ${base} and ${memWal} holds left behind\n`);
  expect(base).toBeGreaterThan(0);
  expect(memWal).toBeGreaterThan(0);
}, 600_000);
