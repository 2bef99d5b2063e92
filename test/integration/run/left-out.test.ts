import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { connect } from '@lancedb/lancedb';
import { expect, it } from 'vitest';
import type { InspectReport, RunReport, StatusReport } from '../../../src/upkeep/reports.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import {
  createPlainTable,
  enableWal,
  flushGeneration,
  plainSchema,
  plainTable,
  row,
  rows,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

function commands(folder: string) {
  const ledger = ['--ledger', `${folder}/ledger.sqlite`];
  return {
    run: () => commandJson<RunReport>(['run', `${folder}/db`, ...ledger]),
    status: () => commandJson<StatusReport>(['status', `${folder}/db`, ...ledger]),
    screens: async () => [
      (await startCommand(['run', `${folder}/db`, ...ledger]).ended).stdout,
      (await startCommand(['status', `${folder}/db`, ...ledger]).ended).stdout,
    ],
    inspect: async (target: string) => (await commandJson<InspectReport>(['inspect', target, ...ledger])).report,
  };
}

it('tables of directory namespaces, nested ones too, are compacted, indexed and merged like any other', async () => {
  const folder = temporaryFolder();
  const database = await connect(`${folder}/db`);
  await database.createNamespace(['team']);
  await database.createNamespace(['team', 'north']);
  for (const namespace of [['team'], ['team', 'north']]) {
    const table = await database.createEmptyTable('events', plainSchema as never, namespace);
    for (let id = 0; id < 20; id += 1) await table.add(plainTable([row(id, 0)]) as never);
    await enableWal(table);
    await flushGeneration(table, [row(1, 5), row(50, 5)]);
    table.close();
  }
  const { run, inspect } = commands(folder);
  const { code, report } = await run();

  expect(code).toBe(0);
  const names = readdirSync(`${folder}/db`).filter((name) => name.includes('$'));
  expect(report.tables.map(({ target }) => target)).toEqual(names.sort().map((name) => `${folder}/db/${name}`));
  for (const { target } of report.tables) {
    expect(await inspect(target)).toMatchObject({
      rows: 21,
      keyIndex: { kind: 'BTree', unindexedRows: 0 },
      wal: { shards: [{ pendingGenerations: 0, watermark: 1 }] },
    });
  }
  for (const namespace of [['team'], ['team', 'north']]) {
    const table = await (await connect(`${folder}/db`)).openTable('events', namespace);
    expect(await table.countRows('n = 5')).toBe(2);
  }
});

it('whatever looks like a table and is left out is named by run and status, with the reason', async () => {
  const folder = temporaryFolder();
  const db = `${folder}/db`;
  (await createPlainTable(db, 'fine', rows(0, 20, 0))).close();
  (await createPlainTable(`${folder}/elsewhere`, 'far', rows(0, 20, 0))).close();
  (await createPlainTable(`${db}/archive.lance`, 'inner', rows(0, 20, 0))).close();
  await (await connect(db)).createNamespace(['team']);
  symlinkSync(`${folder}/elsewhere/far.lance`, `${db}/linked.lance`);
  // A link to a table that is maintained where it lies leaves nothing out.
  symlinkSync(`${db}/fine.lance`, `${db}/again.lance`);
  mkdirSync(`${db}/empty.lance`);
  const { run, status, screens } = commands(folder);
  const { code, report } = await run();

  const leftOut = [
    [`${db}/__manifest`, 'the namespace that lists its tables in it'],
    [`${db}/archive.lance/inner.lance`, `it lies inside of archive.lance`],
    [`${db}/linked.lance`, `it is a symbolic link to ${folder}/elsewhere/far.lance`],
  ] as const;
  const named = (found: RunReport['leftOut']) =>
    [...found].map(({ target, error }) => [error.code, target, error.message]).sort();
  const expected = leftOut.map(([target, why]) => ['TABLE_LEFT_OUT', target, expect.stringContaining(why)]);
  expect(code).toBe(0);
  expect(report.tables.map(({ target }) => target)).toEqual([`${db}/fine.lance`]);
  expect(named(report.leftOut)).toEqual(expected);
  expect(named((await status()).report.leftOut)).toEqual(expected);
  for (const screen of await screens()) for (const [target] of leftOut) expect(screen).toContain(`left out ${target}`);
});
