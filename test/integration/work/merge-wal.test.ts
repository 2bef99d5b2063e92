import { describe, expect, it } from 'vitest';
import { readNewestManifest } from '../../../src/lance/newest.ts';
import { listShards, readNewestShardManifest } from '../../../src/lance/shards.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import {
  createPlainTable,
  enableWal,
  expectedRows,
  flushGeneration,
  readRows,
  row,
  rows,
  sorted,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

async function watermarks(target: string): Promise<number[]> {
  const manifest = await readNewestManifest(createFileObjectStore(target));
  return [...(manifest?.memWal?.compacted.values() ?? [])].sort((a, b) => a - b);
}

describe('merging the MemWAL', () => {
  it('the newest row of every key ends in the base table, with and without the LSM path', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/sessions.lance`;
    const table = await createPlainTable(folder, 'sessions', rows(0, 200, 0), 4);
    await enableWal(table);
    const layers = [rows(0, 200, 0)];
    for (let generation = 1; generation <= 12; generation += 1) {
      const layer = [row(generation, generation), row(150, generation), row(1000 + generation, generation)];
      layers.push(layer);
      await flushGeneration(table, layer);
    }
    const expected = sorted(expectedRows(...layers));
    const dependencies = workDependencies();

    const first = await mergeWal(attemptOn(target), dependencies);
    expect(first.metrics).toMatchObject({ merge_wal_generations: 8, merge_wal_index_built: 1 });
    expect(first.followUp).toEqual({ kind: 'MergeWal', reason: 'wal-remaining' });
    expect(await watermarks(target)).toEqual([8]);
    expect(sorted(await readRows(target, { lsm: true }))).toEqual(expected);

    const second = await mergeWal(attemptOn(target), dependencies);
    expect(second.metrics).toMatchObject({ merge_wal_generations: 4, merge_wal_index_built: 0 });
    expect(second.followUp).toBeUndefined();
    expect(await watermarks(target)).toEqual([12]);
    expect(sorted(await readRows(target, { lsm: true }))).toEqual(expected);
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(expected);

    const before = (await readNewestManifest(createFileObjectStore(target)))?.version;
    const third = await mergeWal(attemptOn(target), dependencies);
    expect(third.rewroteNothing).toBe(true);
    expect((await readNewestManifest(createFileObjectStore(target)))?.version).toBe(before);
  });

  it('directories go after the retention and the shard manifest is drained last', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/sessions.lance`;
    const table = await createPlainTable(folder, 'sessions', rows(0, 50, 0));
    await enableWal(table);
    for (let generation = 1; generation <= 3; generation += 1)
      await flushGeneration(table, [row(generation, generation)]);
    const store = createFileObjectStore(target);
    const [shardId] = await listShards(store);
    const result = await mergeWal(attemptOn(target), workDependencies({ generationRetentionMs: 0 }));
    expect(result.metrics).toMatchObject({ merge_wal_directories_removed: 3, merge_wal_entries_drained: 3 });
    expect((await readNewestShardManifest(store, shardId as string))?.generations).toEqual([]);
    const { prefixes } = await store.list(`_mem_wal/${shardId}/`, { delimiter: '/' });
    expect(prefixes.filter((prefix) => prefix.includes('_gen_'))).toEqual([]);
    await flushGeneration(table, [row(7, 99)]);
    expect((await readRows(target, { lsm: true })).get('key-000007')).toMatchObject({ n: 99n });
  });
});
