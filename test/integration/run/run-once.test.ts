import { expect, it } from 'vitest';
import type { InspectReport, RunReport } from '../../../src/upkeep/reports.ts';
import { commandJson, start } from '../../fixtures/command.ts';
import { createRichTable, plainValue, richTable } from '../../fixtures/rich-table.ts';
import { createPlainTable, enableWal, readRows, row, rows, sorted, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

async function inspect(target: string, ledger: string): Promise<InspectReport> {
  return (await commandJson<InspectReport>(['inspect', target, '--ledger', ledger])).report;
}

it('20 fragments and 12 generations from two writer processes in turn end compacted, indexed and merged; a second run commits nothing', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/sessions.lance`;
  const ledger = `${folder}/ledger.sqlite`;
  const table = await createPlainTable(`${folder}/db`, 'sessions', rows(0, 2000, 0), 20);
  await enableWal(table);
  table.close();
  const expected = new Map(rows(0, 2000, 0).map((r) => [r.id, r]));
  for (let generation = 1; generation <= 12; generation += 1) {
    // Updates of old rows, inserts, and keys that overlap with the generation before.
    const layer = [
      ...rows(generation * 10, generation * 10 + 20, generation),
      row(5000 + generation, generation),
      row(7, generation),
    ];
    const writer = await start('test/processes/one-generation.ts', [`${folder}/db`, 'sessions', JSON.stringify(layer)])
      .ended;
    expect(writer).toMatchObject({ code: 0, stderr: '' });
    for (const r of layer) expected.set(r.id, r);
  }
  const before = await inspect(target, ledger);
  expect(before).toMatchObject({
    fragments: 20,
    keyIndex: null,
    wal: { shards: [{ watermark: 0, pendingGenerations: 12 }] },
  });

  const first = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger]);
  expect(first.code).toBe(0);
  expect(first.report.tasks.filter((task) => task.state !== 'done')).toEqual([]);
  const after = await inspect(target, ledger);
  expect(after).toMatchObject({
    keyIndex: { kind: 'BTree', uncoveredFragments: 0, unindexedRows: 0 },
    wal: { shards: [{ watermark: 12, pendingGenerations: 0 }] },
  });
  expect(after.fragments).toBeLessThan(before.fragments);
  const wanted = [...expected.values()].map((r) => ({ ...r, n: BigInt(r.n) }));
  for (const lsm of [true, false]) {
    expect(sorted(await readRows(target, { lsm })).map(([, value]) => value)).toEqual(
      wanted.sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  const second = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger]);
  expect(second).toMatchObject({ code: 0, report: { tasks: [], tables: [{ version: after.version }] } });
});

it('the same holds for rows with vectors, lists, structs, zoned timestamps, decimals, binary, nulls and changing dictionaries', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/rich.lance`;
  const ledger = `${folder}/ledger.sqlite`;
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `row-${from + index}`);
  const table = await createRichTable(`${folder}/db`, 'rich', ids(0, 20));
  for (let fragment = 1; fragment < 20; fragment += 1) {
    await table.add(richTable(ids(fragment * 20, fragment * 20 + 20), fragment) as never);
  }
  await enableWal(table);
  for (let generation = 1; generation <= 12; generation += 1) {
    await upsert(table).execute(richTable(ids(generation * 7, generation * 7 + 16), 100 + generation) as never);
    await upsert(table).execute(richTable(ids(900 + generation, 907 + generation), 200 + generation) as never);
    await table.closeLsmWriters();
  }
  table.close();
  const content = async (lsm: boolean) =>
    [...(await readRows(target, { lsm }))]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, value]) => [id, plainValue(value)]);
  const expected = await content(true);

  const first = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger]);
  expect(first.code).toBe(0);
  expect(await content(true)).toEqual(expected);
  expect(await content(false)).toEqual(expected);
  const after = await inspect(target, ledger);
  expect(after).toMatchObject({ keyIndex: { kind: 'BTree', unindexedRows: 0 }, wal: { shards: [{ watermark: 12 }] } });
  expect(after.fragments).toBeLessThan(20);
  const second = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger]);
  expect(second).toMatchObject({ code: 0, report: { tasks: [], tables: [{ version: after.version }] } });
});
