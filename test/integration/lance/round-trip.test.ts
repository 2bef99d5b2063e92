import { Index } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { decodeManifest, type TableManifest } from '../../../src/lance/manifest.ts';
import { listManifests, readManifestAt, readNewestManifest } from '../../../src/lance/newest.ts';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { listShards } from '../../../src/lance/shards.ts';
import { commitWatermark } from '../../../src/lance/watermark.ts';
import { varintField } from '../../../src/lance/wire-writer.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { createPlainTable, enableWal, flushBuckets, flushGeneration, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { manifestBytes } from '../../unit/lance/synthetic.ts';
import { reencodeManifest, reencodeShardManifest } from './reencode.ts';

async function everyVersion(store: ObjectStore): Promise<TableManifest[]> {
  const manifests: TableManifest[] = [];
  for await (const { version } of listManifests(store)) {
    const manifest = await readManifestAt(store, version);
    if (manifest) manifests.push(manifest);
  }
  return manifests;
}

async function shardManifests(store: ObjectStore): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for (const shardId of await listShards(store)) {
    const { objects } = await store.list(`_mem_wal/${shardId}/manifest/`);
    for (const { key } of objects) if (key.endsWith('.binpb')) all.push((await store.get(key)) ?? new Uint8Array());
  }
  return all;
}

function expectSameBytes(manifests: readonly TableManifest[]): void {
  for (const { bytes, version } of manifests) {
    expect(Buffer.from(reencodeManifest(bytes)).equals(Buffer.from(bytes)), `version ${version}`).toBe(true);
  }
}

describe('decoding and re-encoding what LanceDB wrote gives the same bytes', () => {
  it('for every version of a table with many fragments, deletions, updates and several indexes', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 'many', rows(0, 400, 0), 40);
    await table.delete("n = 0 and id like 'key-0000%'");
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await table.createIndex('n', { config: Index.bitmap() });
    await table.createIndex('payload', { config: Index.fts() });
    await table.update({ where: "id = 'key-000200'", values: { n: 5 } });
    await table.add(rows(400, 410, 1) as never);
    await table.optimize();
    const store = createFileObjectStore(`${folder}/many.lance`);
    const manifests = await everyVersion(store);
    expect(manifests.length).toBeGreaterThan(45);
    expect(manifests.some(({ deletedRows }) => deletedRows > 0)).toBe(true);
    expect(manifests.some(({ indexes }) => indexes.length >= 3)).toBe(true);
    expectSameBytes(manifests);
  });

  it('for a MemWAL with one shard, with our watermark in it and LanceDB commits on top', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 'wal', rows(0, 50, 0), 2);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await enableWal(table);
    for (const generation of [1, 2, 3]) await flushGeneration(table, rows(0, 5, generation));
    const store = createFileObjectStore(`${folder}/wal.lance`);
    const [shardId = ''] = await listShards(store);
    const { signal } = new AbortController();
    await commitWatermark(store, {
      watermarks: new Map([[shardId, 2]]),
      catchUpWhenIndexed: true,
      beforePut: async () => {},
      signal,
    });
    await table.checkoutLatest();
    await table.add(rows(50, 60, 1) as never);
    await table.optimize();
    const manifests = await everyVersion(store);
    expect(manifests[0]?.memWal?.compacted).toEqual(new Map([[shardId, 2]]));
    expectSameBytes(manifests);
    const shards = await shardManifests(store);
    expect(shards.length).toBeGreaterThan(3);
    for (const bytes of shards) expect(Buffer.from(reencodeShardManifest(bytes)).equals(Buffer.from(bytes))).toBe(true);
  });

  it('for a MemWAL with two shards', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 'two', rows(0, 50, 0), 2);
    await enableWal(table, 2);
    await flushBuckets(folder, 'two', 2, rows(0, 20, 1));
    const store = createFileObjectStore(`${folder}/two.lance`);
    const shardIds = await listShards(store);
    expect(shardIds).toHaveLength(2);
    const { signal } = new AbortController();
    const watermarks = new Map(shardIds.map((shardId) => [shardId, 1]));
    await commitWatermark(store, { watermarks, catchUpWhenIndexed: true, beforePut: async () => {}, signal });
    const manifests = await everyVersion(store);
    expect(manifests[0]?.memWal?.compacted).toEqual(watermarks);
    expectSameBytes(manifests);
    for (const bytes of await shardManifests(store)) {
      expect(Buffer.from(reencodeShardManifest(bytes)).equals(Buffer.from(bytes))).toBe(true);
    }
  });

  it('and the comparison would notice: a number spelled in more bytes than it needs comes back shorter', async () => {
    const spelledLong = Uint8Array.from([...varintField(17, 1).subarray(0, 2), 0x81, 0x00]);
    const bytes = manifestBytes({ extra: [spelledLong] });
    expect(decodeManifest('_versions/7.manifest', bytes).version).toBe(7);
    expect(reencodeManifest(bytes)).toHaveLength(bytes.length - 1);
  });

  it('while the newest version is the one that LanceDB opens', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 'plain', rows(0, 50, 0), 5);
    const newest = await readNewestManifest(createFileObjectStore(`${folder}/plain.lance`));
    expect(newest?.version).toBe(await table.version());
  });
});
