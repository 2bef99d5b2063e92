import { connect, Index, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { coverageOf, keyColumnOf, keyIndexOf, logicalIndexes } from '../../../src/lance/key-index.ts';
import type { TableManifest } from '../../../src/lance/manifest.ts';
import { findNewestVersion, listManifests, readNewestManifest } from '../../../src/lance/newest.ts';
import { assertReadable, assertWritable } from '../../../src/lance/support.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { arrow } from '../../../src/work/arrow.ts';
import { createPlainTable, plainTable, rows, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

async function newest(folder: string, name: string): Promise<TableManifest> {
  const manifest = await readNewestManifest(createFileObjectStore(`${folder}/${name}.lance`));
  if (!manifest) throw new Error(`no table ${name}`);
  return manifest;
}

/** Compares kinds and covered rows of all indexes with LanceDB's own account. */
async function expectSameIndexes(table: Table, manifest: TableManifest): Promise<void> {
  const theirs = (await table.listIndices()).map((index) => ({
    name: index.name,
    kind: index.typeUrl?.replace(/^.*\.(\w+)IndexDetails$/, '$1'),
    unindexedRows: index.numUnindexedRows,
    indexedRows: index.numIndexedRows,
    segments: index.numSegments,
    bytes: index.sizeBytes,
  }));
  const ours = [...logicalIndexes(manifest)].map(([name, segments]) => {
    const { unindexedRows } = coverageOf(manifest, segments);
    return {
      name,
      kind: segments[0]?.kind,
      unindexedRows,
      indexedRows: manifest.liveRows - unindexedRows,
      segments: segments.length,
      bytes: segments.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0),
    };
  });
  const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
  expect(ours.toSorted(byName)).toEqual(theirs.toSorted(byName));
}

describe('what the manifest says is what LanceDB says', () => {
  it('on rows, deletions, fragments, index kinds and coverage, through updates, merges and optimize', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 't', rows(0, 300, 0), 10);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await table.createIndex('n', { config: Index.bitmap(), name: 'n_idx' });
    await table.createIndex('payload', { config: Index.fts(), name: 'words' });
    const steps: (() => Promise<unknown>)[] = [
      async () => undefined,
      () => table.delete("id in ('key-000003', 'key-000150')"),
      () => table.add(plainTable(rows(300, 340, 1)) as never),
      () => table.update({ where: 'n = 1', values: { n: 2 } }),
      () => upsert(table).execute(plainTable(rows(290, 310, 7)) as never),
      () => table.optimize(),
      () => table.createIndex('id', { config: Index.bitmap(), name: 'id_idx', replace: true }),
    ];
    for (const step of steps) {
      await step();
      const manifest = await newest(folder, 't');
      const { fragmentStats } = await table.stats();
      expect(manifest.version).toBe(await table.version());
      expect(manifest.liveRows).toBe(await table.countRows());
      expect(manifest.fragments).toHaveLength(fragmentStats.numFragments);
      await expectSameIndexes(table, manifest);
      expect(() => assertWritable(manifest)).not.toThrow();
    }
    const last = await newest(folder, 't');
    expect(keyIndexOf(last, keyColumnOf(last))).toMatchObject({ name: 'id_idx', kind: 'Bitmap', exact: false });
  });

  it('on vector, label list and full text indexes too', async () => {
    const folder = temporaryFolder();
    const connection = await connect(folder);
    const data = Array.from({ length: 300 }, (_, index) => ({
      id: `k${index}`,
      vector: Array(8).fill(index / 300),
      tags: ['a', 'b'],
    }));
    const table = await connection.createTable('t', data);
    await table.createIndex('vector', { config: Index.ivfPq({ numPartitions: 1, numSubVectors: 1 }) });
    await table.createIndex('tags', { config: Index.labelList() });
    await table.createIndex('id', { config: Index.fm() });
    await table.add(data.slice(0, 10));
    const manifest = await newest(folder, 't');
    await expectSameIndexes(table, manifest);
    expect(manifest.indexes.map(({ kind }) => kind).toSorted()).toEqual(['FM', 'LabelList', 'Vector']);
  });

  it('on sizes: the data files are there and as large as recorded', async () => {
    const folder = temporaryFolder();
    await createPlainTable(folder, 't', rows(0, 100, 0), 4);
    const store = createFileObjectStore(`${folder}/t.lance`);
    const manifest = await newest(folder, 't');
    for (const file of manifest.fragments.flatMap(({ files }) => files)) {
      expect((await store.head(`data/${file.path}`))?.size).toBe(file.bytes);
    }
  });

  it('on the name of each deletion file', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 't', rows(0, 20_000, 0), 2);
    await table.delete("id = 'key-000001'");
    await table.delete("id > 'key-012000'");
    const store = createFileObjectStore(`${folder}/t.lance`);
    const files = (await newest(folder, 't')).fragments.flatMap(({ deletionFile }) => deletionFile ?? []);
    expect(files).toHaveLength(2);
    for (const file of files) expect(await store.head(file), file).toBeDefined();
  });

  it('on nested and declared key columns', async () => {
    const folder = temporaryFolder();
    const connection = await connect(folder);
    const schema = new arrow.Schema([
      new arrow.Field('sku', new arrow.Utf8(), false),
      new arrow.Field('place', new arrow.Struct([new arrow.Field('id', new arrow.Utf8(), true)]), true),
    ]);
    const table = await connection.createEmptyTable('t', schema as never);
    const undeclared = await newest(folder, 't');
    expect(() => keyColumnOf(undeclared)).toThrow(expect.objectContaining({ code: 'KEY_COLUMN_MISSING' }));
    await table.setUnenforcedPrimaryKey('sku');
    expect(keyColumnOf(await newest(folder, 't'))).toMatchObject({ name: 'sku', declared: true });
  });
});

describe('the newest version', () => {
  it('is found for V2 names, and V1 names, where it is read but not written', async () => {
    const folder = temporaryFolder();
    for (const [name, v2] of [
      ['new', 'true'],
      ['old', 'false'],
    ] as const) {
      const connection = await connect(folder, { storageOptions: { new_table_enable_v2_manifest_paths: v2 } });
      const table = await connection.createTable(name, [{ id: 'a' }]);
      for (let version = 2; version <= 12; version++) await table.add([{ id: String(version) }]);
      const store = createFileObjectStore(`${folder}/${name}.lance`);
      expect(await findNewestVersion(store)).toMatchObject({ version: 12, naming: v2 === 'true' ? 'V2' : 'V1' });
      const manifest = await newest(folder, name);
      expect(manifest.liveRows).toBe(12);
      expect(() => assertReadable(manifest)).not.toThrow();
      if (v2 === 'false') {
        expect(() => assertWritable(manifest)).toThrow(expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED' }));
        // Declared on the class behind Table only.
        await (table as unknown as { migrateManifestPathsV2(): Promise<void> }).migrateManifestPathsV2();
        expect(await findNewestVersion(store)).toMatchObject({ version: 12, naming: 'V2' });
        const migrated = await newest(folder, name);
        expect(() => assertWritable(migrated)).not.toThrow();
      }
      const listed: number[] = [];
      for await (const { version } of listManifests(store)) listed.push(version);
      expect(listed).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    }
  });

  it('is refused for writing with stable row ids and in the legacy data format', async () => {
    const folder = temporaryFolder();
    const stable = await connect(folder, { storageOptions: { new_table_enable_stable_row_ids: 'true' } });
    await stable.createTable('stable', [{ id: 'a' }]);
    const legacy = await connect(folder, { storageOptions: { new_table_data_storage_version: 'legacy' } });
    await legacy.createTable('legacy', [{ id: 'a' }]);
    for (const name of ['stable', 'legacy']) {
      const manifest = await newest(folder, name);
      expect(manifest.liveRows).toBe(1);
      expect(() => assertWritable(manifest), name).toThrow(expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED' }));
    }
  });
});
