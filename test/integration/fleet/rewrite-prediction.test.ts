import { connect, Index, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { readNewestManifest } from '../../../src/lance/newest.ts';
import { boundedGroups, predictOptimize } from '../../../src/lance/rewrite-prediction.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { createPlainTable, enableWal, flushGeneration, plainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

async function manifestOf(database: string, name: string) {
  const manifest = await readNewestManifest(createFileObjectStore(`${database}/${name}.lance`));
  if (manifest === undefined) throw new Error(`no table ${name}`);
  return manifest;
}

async function add(table: Table, from: number, to: number) {
  await table.add(plainTable(rows(from, to, 1)) as never);
}

async function addPieces(table: Table, from: number, to: number, size: number) {
  for (let at = from; at < to; at += size) await add(table, at, at + size);
}

const layouts: Record<string, (table: Table) => Promise<void>> = {
  'fragments without an index': (table) => addPieces(table, 100, 200, 20),
  'one fragment': async () => undefined,
  'one fragment with 10 % of its rows deleted': async (table) => {
    await table.delete("id < 'key-000010'");
  },
  'one fragment with more than 10 % of its rows deleted': async (table) => {
    await table.delete("id < 'key-000011'");
  },
  'an indexed fragment and one new one': async (table) => {
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await add(table, 100, 120);
  },
  'indexed fragments and several new ones': async (table) => {
    await add(table, 100, 120);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await addPieces(table, 120, 180, 20);
  },
  'fragments that two indexes cover differently': async (table) => {
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await addPieces(table, 100, 140, 20);
    await table.createIndex('n', { config: Index.btree(), name: 'n_idx' });
    await addPieces(table, 140, 200, 20);
  },
  'a MemWAL index and fragments older and newer than it': async (table) => {
    await addPieces(table, 100, 140, 20);
    await enableWal(table);
    await flushGeneration(table, rows(0, 5, 2));
    await addPieces(table, 140, 200, 20);
  },
  'deletions in the middle of indexed fragments': async (table) => {
    await addPieces(table, 100, 160, 20);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await table.delete("id >= 'key-000120' and id < 'key-000130'");
    await addPieces(table, 160, 180, 20);
  },
};

describe('the prediction of what optimize() rewrites', () => {
  it.each(Object.entries(layouts))('holds for %s', async (_, arrange) => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 100, 0));
    await arrange(table);
    const before = await manifestOf(database, 't');
    const predicted = predictOptimize(before);

    const stats = await (await (await connect(database)).openTable('t')).optimize();

    const after = new Set((await manifestOf(database, 't')).fragments.map((fragment) => fragment.id));
    const rewritten = before.fragments.filter((fragment) => !after.has(fragment.id));
    expect(predicted.groups.flat()).toEqual(rewritten.map((fragment) => fragment.id));
    expect(predicted.fragments).toBe(stats.compaction.fragmentsRemoved);
    expect(predicted.groups.length).toBe(stats.compaction.fragmentsAdded);
    expect(predicted.bytes).toBe(rewritten.reduce((sum, fragment) => sum + (fragment.bytes ?? Number.NaN), 0));
  });

  it('is empty again once optimize() has settled', async () => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 200, 0), 10);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await table.optimize();
    expect(predictOptimize(await manifestOf(database, 't'))).toEqual({ groups: [], fragments: 0, bytes: 0 });
  });
});

describe('the neighbours that the bounded strategy may rewrite', () => {
  it('are the small fragments beside each other, with sizes from the real manifest', async () => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 20, 0));
    await add(table, 20, 40);
    await add(table, 1000, 9000);
    await add(table, 40, 60);
    await add(table, 9000, 17_000);
    await addPieces(table, 60, 120, 20);
    const { fragments } = await manifestOf(database, 't');
    const largest = Math.max(...fragments.map((fragment) => fragment.bytes ?? 0));

    const { groups } = boundedGroups(await manifestOf(database, 't'), {
      targetFragmentBytes: largest,
      compactMaxBytes: Number.MAX_SAFE_INTEGER,
      compactMaxSourceFragments: 32,
    });

    expect(groups).toEqual([
      [0, 1],
      [5, 6, 7],
    ]);
  });
});
