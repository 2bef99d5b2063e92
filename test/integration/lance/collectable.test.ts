import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Index, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { collectableGenerations } from '../../../src/lance/collectable.ts';
import { listManifests, readNewestManifest } from '../../../src/lance/newest.ts';
import { listShards } from '../../../src/lance/shards.ts';
import { commitWatermark } from '../../../src/lance/watermark.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { createPlainTable, enableWal, flushGeneration, plainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const minute = 60_000;
const hour = 60 * minute;

async function walTable() {
  const database = temporaryFolder();
  const table = await createPlainTable(database, 't', rows(0, 20, 0));
  await enableWal(table);
  for (let n = 1; n <= 3; n += 1) await flushGeneration(table, rows(0, 5, n));
  const target = `${database}/t.lance`;
  const [shardId = ''] = await listShards(createFileObjectStore(target));
  return { table, target, shardId };
}

async function merged(target: string, shardId: string, generation: number, catchUpWhenIndexed = true) {
  await commitWatermark(createFileObjectStore(target), {
    watermarks: new Map([[shardId, generation]]),
    catchUpWhenIndexed,
    beforePut: async () => undefined,
    signal: new AbortController().signal,
  });
}

/** Makes every version that is there now as old as `age`, as the table dates it. */
async function age(target: string, milliseconds: number) {
  const at = new Date(Date.now() - milliseconds);
  for await (const { key } of listManifests(createFileObjectStore(target))) utimesSync(join(target, key), at, at);
}

async function collectable(target: string, retention = hour) {
  const store = createFileObjectStore(target);
  const newest = await readNewestManifest(store);
  if (newest === undefined) throw new Error('no table');
  return Object.fromEntries(await collectableGenerations(store, newest, Date.now() - retention));
}

async function append(table: Table) {
  await table.checkoutLatest();
  await table.add(plainTable(rows(100, 101, 9)) as never);
}

describe('generations that can be collected', () => {
  it('are none while nothing is merged', async () => {
    const { target } = await walTable();
    await age(target, 2 * hour);
    expect(await collectable(target)).toEqual({});
  });

  it('are those merged before the retention began, though later versions merged more', async () => {
    const { target, shardId } = await walTable();
    await merged(target, shardId, 1);
    await age(target, 2 * hour);
    expect(await collectable(target)).toEqual({ [shardId]: 1 });
    await merged(target, shardId, 3);
    expect(await collectable(target)).toEqual({ [shardId]: 1 });
    expect(await collectable(target, 0)).toEqual({ [shardId]: 3 });
  });

  it('are those of the version that readers held at the cutoff, not of the first one after it', async () => {
    const { table, target, shardId } = await walTable();
    await age(target, 3 * hour);
    await merged(target, shardId, 2);
    await append(table);
    expect(await collectable(target)).toEqual({});
    await age(target, hour + minute);
    expect(await collectable(target)).toEqual({ [shardId]: 2 });
  });

  it('wait for a full-text index to catch up, but not for a BTree', async () => {
    const { table, target, shardId } = await walTable();
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    await merged(target, shardId, 2, false);
    await age(target, 2 * hour);
    expect(await collectable(target)).toEqual({ [shardId]: 2 });

    const other = await walTable();
    await other.table.createIndex('payload', { config: Index.fts(), name: 'text_idx' });
    await merged(other.target, other.shardId, 2, false);
    await age(other.target, 2 * hour);
    expect(await collectable(other.target)).toEqual({});
    await merged(other.target, other.shardId, 3, true);
    await age(other.target, 2 * hour);
    expect(await collectable(other.target)).toEqual({ [other.shardId]: 3 });
  });
});
