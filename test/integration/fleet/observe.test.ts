import { connect, Index } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { observe } from '../../../src/fleet/observe.ts';
import { placeHold } from '../../../src/lance/hold-commit.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { arrow } from '../../../src/work/arrow.ts';
import { createPlainTable, plainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const settings = loadSettings({});

function look(target: string, now = Date.now()) {
  return observe(createFileObjectStore(target), target, settings, now);
}

describe('an observation', () => {
  it('counts versions, rows, fragments, bytes and index coverage as LanceDB does', async () => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 400, 0), 8);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await table.delete("id < 'key-000020'");
    await table.add(plainTable(rows(400, 430, 1)) as never);

    const facts = await look(`${database}/t.lance`);

    const stats = await table.stats();
    const index = await table.indexStats('id_idx');
    expect(facts).toMatchObject({
      target: `${database}/t.lance`,
      version: await table.version(),
      rows: await table.countRows(),
      physicalRows: 430,
      deletedRows: 20,
      fragments: stats.fragmentStats.numFragments,
      smallFragments: 9,
      keyColumn: 'id',
      keyIndex: {
        name: 'id_idx',
        kind: 'BTree',
        exact: true,
        coveredFragments: 8,
        uncoveredFragments: 1,
        unindexedRows: index?.numUnindexedRows,
      },
      wal: null,
    });
    expect(facts.bytes).toBeGreaterThan(0);
    expect(facts.error).toBeUndefined();
  });

  it('takes a hold for no index: it has no files that could be missing, and hides nothing that can be compacted', async () => {
    const database = temporaryFolder();
    const target = `${database}/t.lance`;
    const table = await createPlainTable(database, 't', rows(0, 100, 0), 5);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    const { compactableFragments } = await look(target);
    await placeHold(createFileObjectStore(target), [], { beforePut: async () => undefined });

    const facts = await look(target);

    expect(facts.error).toBeUndefined();
    expect(facts).toMatchObject({ hold: { heldFragments: 5 }, compactableFragments });
    expect(facts.indexes.map(({ name }) => name)).toEqual(['id_idx']);
  });

  it('counts as compactable what optimize() then removes', async () => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 400, 0), 20);
    const before = await look(`${database}/t.lance`);
    const { compaction } = await table.optimize();
    expect(before.compactableFragments).toBe(20);
    expect(compaction.fragmentsRemoved).toBe(20);
    expect(await look(`${database}/t.lance`)).toMatchObject({ fragments: 1, compactableFragments: 0 });
  });

  it.each([
    ['a bitmap in the place of the BTree', Index.bitmap(), 'Bitmap'],
    ['a full-text index', Index.fts(), 'Inverted'],
  ])('sees %s as an index of another kind', async (_, config, kind) => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 50, 0));
    await table.createIndex('id', { config, name: 'id_idx' });
    expect((await look(`${database}/t.lance`)).keyIndex).toMatchObject({ name: 'id_idx', kind, exact: false });
  });

  it('takes the declared key column, whatever its name', async () => {
    const database = temporaryFolder();
    const schema = new arrow.Schema([new arrow.Field('sku', new arrow.Utf8(), false)]);
    const table = await (await connect(database)).createEmptyTable('t', schema as never);
    await table.add([{ sku: 'a' }]);
    await table.setUnenforcedPrimaryKey('sku');
    expect((await look(`${database}/t.lance`)).keyColumn).toBe('sku');
  });

  it('finds no key column in a table without one, which is no error', async () => {
    const database = temporaryFolder();
    await (await connect(database)).createTable('t', [{ name: 'a', value: 1 }]);
    const facts = await look(`${database}/t.lance`);
    expect(facts).toMatchObject({ keyColumn: null, keyIndex: null, rows: 1 });
    expect(facts.error).toBeUndefined();
  });
});
