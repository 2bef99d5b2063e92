import { expect, it } from 'vitest';
import { compact } from '../../../src/work/compact.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import { createRichTable, plainValue, richSchema, richTable } from '../../fixtures/rich-table.ts';
import { createPlainTable, enableWal, flushGeneration, readRows, row, rows, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `row-${from + i}`);

async function content(target: string, lsm: boolean) {
  const rows = await readRows(target, { lsm });
  return Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, row]) => [id, plainValue(row)]));
}

it('vectors, lists, structs, zoned timestamps, decimals, binary, nulls and changing dictionaries pass the merge unchanged', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/rich.lance`;
  const table = await createRichTable(folder, 'rich', names(0, 40));
  await enableWal(table);
  for (let generation = 1; generation <= 5; generation += 1) {
    await upsert(table).execute(richTable(names(generation * 3, generation * 3 + 10), generation) as never);
    await upsert(table).execute(richTable(names(100 * generation, 100 * generation + 7), generation + 50) as never);
    await table.closeLsmWriters();
  }
  const before = await content(target, true);
  expect(Object.keys(before)).toHaveLength(75);
  expect(before['row-17']).toMatchObject({ role: null, vector: null, location: null });
  expect(before['row-16']).toMatchObject({ role: 'role-5-1', vector: [5, 1, 0.5, -1] });

  const result = await mergeWal(attemptOn(target), workDependencies());
  expect(result.metrics).toMatchObject({ merge_wal_generations: 5 });
  expect(await content(target, true)).toEqual(before);
  expect(await content(target, false)).toEqual(before);

  await compact(attemptOn(target), workDependencies());
  expect(await content(target, false)).toEqual(before);
});

it('dictionary values that outgrow the index type are merged in more than one commit', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/rich.lance`;
  const table = await createRichTable(folder, 'rich', names(0, 4));
  await enableWal(table);
  for (let generation = 1; generation <= 2; generation += 1) {
    for (let part = 0; part < 25; part += 1) {
      const start = generation * 1000 + part * 10;
      await upsert(table).execute(richTable(names(start, start + 7), generation * 100 + part) as never);
    }
    await table.closeLsmWriters();
  }
  const before = await content(target, true);
  await mergeWal(attemptOn(target), workDependencies());
  expect(await content(target, false)).toEqual(before);
});

it('columns that the base got after the generation was written are filled with nulls, whatever their type', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/rich.lance`;
  const plain = await createPlainTable(folder, 'rich', rows(0, 10, 0));
  await enableWal(plain);
  await flushGeneration(plain, [row(3, 1), row(20, 1), row(21, 1)]);
  const added = richSchema.fields.filter((field) => field.name !== 'id');
  await plain.addColumns(added as never);

  await mergeWal(attemptOn(target), workDependencies());
  const merged = await content(target, false);
  expect(Object.keys(merged)).toHaveLength(12);
  expect(merged['key-000021']).toMatchObject({
    n: '1n',
    role: null,
    vector: null,
    location: null,
    price: null,
    day: null,
  });
});
