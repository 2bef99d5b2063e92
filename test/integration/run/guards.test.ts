import { existsSync } from 'node:fs';
import { connect, Index } from '@lancedb/lancedb';
import { expect, it } from 'vitest';
import type { RunReport, StatusReport } from '../../../src/upkeep/reports.ts';
import { arrow } from '../../../src/work/arrow.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import { failOnce } from '../../fixtures/failed-task.ts';
import {
  createPlainTable,
  enableWal,
  flushGeneration,
  headOf,
  plainTable,
  readRows,
  row,
  rows,
  upsert,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

it('a root inside or around the root of another ledger is refused, and leaves no marker behind', async () => {
  const folder = temporaryFolder();
  (await createPlainTable(`${folder}/db`, 'outer', rows(0, 20, 0), 2)).close();
  (await createPlainTable(`${folder}/db/team`, 'inner', rows(0, 20, 0), 2)).close();
  const run = (root: string, ledger: string) => startCommand(['run', root, '--ledger', `${folder}/${ledger}`]).ended;
  expect((await run(`${folder}/db`, 'a.sqlite')).code).toBe(0);
  const inside = await run(`${folder}/db/team`, 'b.sqlite');
  expect(inside).toMatchObject({ code: 1, stderr: expect.stringContaining('ROOT_OWNED') });
  expect(existsSync(`${folder}/db/team/_lance_upkeep/owner.json`)).toBe(false);
  expect((await run(`${folder}/db/team`, 'a.sqlite')).code).toBe(0);
  const around = await run(folder, 'c.sqlite');
  expect(around).toMatchObject({ code: 1, stderr: expect.stringContaining('ROOT_OWNED') });
  expect(existsSync(`${folder}/_lance_upkeep/owner.json`)).toBe(false);
});

it('a folder with a backslash in its name is maintained like any other', async () => {
  const folder = temporaryFolder();
  (await createPlainTable(`${folder}/db`, 'fine', rows(0, 200, 0), 20)).close();
  (await createPlainTable(`${folder}/db/we\\ird`, 'odd', rows(0, 200, 0), 20)).close();
  const words = ['run', `${folder}/db`, '--ledger', `${folder}/ledger.sqlite`];
  const { code, report } = await commandJson<RunReport>(words);
  expect({ code, unreadable: report.unreadable }).toEqual({ code: 0, unreadable: [] });
  expect(report.tables).toMatchObject([{ fragments: 1 }, { fragments: 1, keyIndex: { kind: 'BTree' } }]);
});

it('work that failed and has to wait is reported by the next run, and does not end with 0 as if nothing were due', async () => {
  const folder = temporaryFolder();
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 20, 0));
  await enableWal(table);
  for (let generation = 1; generation <= 9; generation += 1) await flushGeneration(table, [row(1, generation)]);
  table.close();
  const words = ['run', `${folder}/db`, '--ledger', `${folder}/ledger.sqlite`];
  const failedId = await failOnce(`${folder}/ledger.sqlite`, 'MergeWal', `${folder}/db/events.lance`);
  // Nothing wake-ups a task that waits for another one, so that it is only known from the ledger.
  await startCommand(['send', 'Compact', `${folder}/db/events.lance`, '--depends-on', failedId, ...words.slice(2)])
    .ended;
  const { code, report } = await commandJson<RunReport>(words, { INDEX_AFTER_COMPACTION: 'false' });
  expect(report.tasks.find((task) => task.kind === 'Compact')).toMatchObject({
    state: 'waiting',
    dependsOn: [failedId],
  });
  const merge = report.tasks.find((task) => task.kind === 'MergeWal');
  expect(merge).toMatchObject({ state: 'queued', error: { code: 'STORE_IO' }, notBefore: expect.any(String) });
  expect(code).toBe(4);
});

it('a permanent failure is shown as one by status, and not asked for again before the table changes', async () => {
  const folder = temporaryFolder();
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 20, 0));
  await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await enableWal(table);
  await table.add(plainTable([row(1, 5)]) as never);
  await table.optimize();
  for (let generation = 1; generation <= 9; generation += 1) await flushGeneration(table, [row(1, generation)]);
  const ledger = ['--ledger', `${folder}/ledger.sqlite`];
  const first = await commandJson<RunReport>(['run', `${folder}/db`, ...ledger]);
  const merges = (report: RunReport) => report.tasks.filter((task) => task.kind === 'MergeWal');
  expect(merges(first.report)).toMatchObject([{ state: 'failed', error: { code: 'DUPLICATE_KEYS' } }]);
  const second = await commandJson<RunReport>(['run', `${folder}/db`, ...ledger]);
  expect(merges(second.report)).toEqual([]);
  const status = await commandJson<StatusReport>(['status', `${folder}/db`, ...ledger]);
  expect(status.report.tables).toMatchObject([{ attention: true }]);
  expect(status.report.tables[0]?.reasons.join(' ')).toContain('DUPLICATE_KEYS');
  expect(status.code).toBe(3);

  await table.delete("id = 'key-000001'");
  const mended = await commandJson<RunReport>(['run', `${folder}/db`, ...ledger]);
  expect(merges(mended.report).map((task) => task.state)).toContain('done');
  expect((await readRows(`${folder}/db/events.lance`, { lsm: false })).get('key-000001')).toMatchObject({ n: 9n });
});

it('an empty root is refused, so that an unset variable does not mean the current folder', async () => {
  const folder = temporaryFolder();
  const { code, stderr } = await startCommand(['run', '', '--ledger', `${folder}/ledger.sqlite`]).ended;
  expect(code).toBe(2);
  expect(stderr).toContain('ROOT_INVALID');
});

it('a tagged version is kept by a compaction that prunes older ones', async () => {
  const folder = temporaryFolder();
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 200, 0), 20);
  await (await table.tags()).create('release', 10);
  table.close();
  const words = ['run', `${folder}/db`, '--ledger', `${folder}/ledger.sqlite`];
  const { code, report } = await commandJson<RunReport>(words, { VERSION_RETENTION: '0', GENERATION_RETENTION: '0' });
  expect(code).toBe(0);
  expect(report.tasks.find((task) => task.kind === 'Compact')).toMatchObject({ state: 'done' });
  const tagged = await (await connect(`${folder}/db`)).openTable('events');
  await tagged.checkout('release');
  expect(await tagged.countRows()).toBe(90);
});

it('the smallest and the largest 64-bit keys are merged like any others', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/events.lance`;
  const schema = new arrow.Schema([
    new arrow.Field('id', new arrow.Int64(), false),
    new arrow.Field('n', new arrow.Int64(), true),
  ]);
  const keys = [-(2n ** 63n), -(2n ** 63n) + 1n, -1n, 0n, 2n ** 63n - 1n];
  const content = (n: number) =>
    new arrow.Table(schema, {
      id: arrow.vectorFromArray(keys, new arrow.Int64()),
      n: arrow.vectorFromArray(
        keys.map(() => BigInt(n)),
        new arrow.Int64(),
      ),
    } as never);
  const table = await (await connect(folder)).createEmptyTable('events', schema as never);
  await table.add(content(0) as never);
  await enableWal(table);
  await upsert(table).execute(content(7) as never);
  await table.closeLsmWriters();
  await mergeWal(attemptOn(target), workDependencies());
  const seen = await readRows(target, { lsm: false });
  expect([...seen.values()].map(({ id, n }) => `${id} ${n}`).sort()).toEqual(keys.map((key) => `${key} 7`).sort());
  expect((await headOf(target)).liveRows).toBe(keys.length);
});
