import { connect, type Table } from '@lancedb/lancedb';
import type { TableManifest } from '../../../src/lance/manifest.ts';
import { readNewestManifest } from '../../../src/lance/newest.ts';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { listShards, readNewestShardManifest, type ShardManifest } from '../../../src/lance/shards.ts';
import type { WatermarkRequest } from '../../../src/lance/watermark.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import {
  createPlainTable,
  enableWal,
  flushGeneration,
  plainTable,
  readRows,
  row,
  rows,
  upsert,
} from '../../fixtures/tables.ts';

/** A table of 20 rows with n = 0 and one shard; generation g, from 1, sets n = 100 + g on the rows 0 to 4. */
export interface WalStory {
  readonly folder: string;
  readonly target: string;
  readonly table: Table;
  readonly store: ObjectStore;
  readonly shardId: string;
}

export async function walStory(
  folder: string,
  generations: number,
  prepare: (table: Table) => Promise<void> = async () => {},
): Promise<WalStory> {
  const table = await createPlainTable(folder, 't', rows(0, 20, 0), 2);
  await prepare(table);
  await enableWal(table);
  for (let generation = 1; generation <= generations; generation++)
    await flushGeneration(table, rows(0, 5, 100 + generation));
  const target = `${folder}/t.lance`;
  const store = createFileObjectStore(target);
  const [shardId = ''] = await listShards(store);
  return { folder, target, table, store, shardId };
}

export function watermarkRequest(
  story: WalStory,
  generation: number,
  more: Partial<WatermarkRequest> = {},
): WatermarkRequest {
  return {
    watermarks: new Map([[story.shardId, generation]]),
    catchUpWhenIndexed: false,
    beforePut: async () => {},
    signal: new AbortController().signal,
    ...more,
  };
}

/** What a merge does to the base, without its watermark: sets n on the rows 0 to 4. */
export async function mergeIntoBase(story: WalStory, n: number): Promise<void> {
  const table = await openAnew(story);
  await upsert(table)
    .useLsm(false)
    .execute(plainTable(rows(0, 5, n)) as never);
  table.close();
}

/** A handle of its own connection, at the newest version. */
export async function openAnew(story: WalStory): Promise<Table> {
  return (await connect(story.folder)).openTable('t');
}

/** The value of n at row 3 that a fresh reader gets, through the MemWAL or from the base alone. */
export async function seen(story: WalStory, options: { readonly lsm: boolean } = { lsm: true }): Promise<number> {
  return Number((await readRows(story.target, options)).get(row(3, 0).id)?.n);
}

export async function head(story: WalStory): Promise<TableManifest> {
  const manifest = await readNewestManifest(story.store);
  if (!manifest) throw new Error(`no table at ${story.target}`);
  return manifest;
}

export async function watermark(story: WalStory): Promise<number | undefined> {
  return (await head(story)).memWal?.compacted.get(story.shardId);
}

export async function shard(story: WalStory): Promise<ShardManifest> {
  const manifest = await readNewestShardManifest(story.store, story.shardId);
  if (!manifest) throw new Error(`no manifest of shard ${story.shardId}`);
  return manifest;
}

/** The table of the story, but `act` runs right before each manifest is put: too late for the commit to see what it does. */
export function beforeManifest(story: WalStory, act: () => Promise<void>): ObjectStore {
  return {
    ...story.store,
    async putIfAbsent(key, bytes) {
      if (key.startsWith('_versions/')) await act();
      return story.store.putIfAbsent(key, bytes);
    },
  };
}
