import { rmSync } from 'node:fs';
import { connect, Index } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { keyColumnOf, keyIndexOf } from '../../../src/lance/key-index.ts';
import { listShards, readNewestShardManifest } from '../../../src/lance/shards.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import {
  createPlainTable,
  enableWal,
  expectedRows,
  flushBuckets,
  flushGeneration,
  headOf,
  makeTombstones,
  plainTable,
  readRows,
  row,
  rows,
  shardOf,
  sorted,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

/** 100 base rows and one generation for each layer. */
async function tableWith(layers: readonly (readonly ReturnType<typeof row>[])[], fragments = 1) {
  const folder = temporaryFolder();
  const table = await createPlainTable(folder, 'events', rows(0, 100, 0), fragments);
  await enableWal(table);
  for (const layer of layers) await flushGeneration(table, layer);
  return { folder, table, target: `${folder}/events.lance` };
}

describe('what a merge leaves in the base table', () => {
  it('a tombstone deletes its key, a row written after it brings the key back, and one for an unknown key does nothing', async () => {
    const { target } = await tableWith([
      [row(1, 1), row(2, 1), row(500, 1)],
      [row(1, 2), row(2, 2), row(501, 2)],
      [row(2, 3)],
    ]);
    const shard = await shardOf(target);
    const second = shard.generations[1]?.path as string;
    await makeTombstones(target, shard.shardId, second, ['key-000001', 'key-000002', 'key-000501']);
    const result = await mergeWal(attemptOn(target), workDependencies());
    const expected = expectedRows(rows(0, 100, 0), [row(500, 1), row(2, 3)]);
    expected.delete('key-000001');
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expected));
    expect(sorted(await readRows(target, { lsm: true }))).toEqual(sorted(expected));
    expect(result.metrics).toMatchObject({
      merge_wal_rows_deleted: 1,
      merge_wal_rows_inserted: 1,
      merge_wal_rows_updated: 1,
    });
    expect(await headOf(target)).toMatchObject({ liveRows: 100 });
  });

  it('a process that dies before any of the commits is followed by one that ends with the same rows, each once', async () => {
    const layers = [rows(90, 110, 1), rows(95, 130, 2)];
    const expected = sorted(expectedRows(rows(0, 100, 0), ...layers));
    for (let diesAt = 1; diesAt <= 5; diesAt += 1) {
      const { target } = await tableWith(layers, 2);
      const dependencies = workDependencies({ generationRetentionMs: 0 });
      const attempt = attemptOn(target, {
        onFence: (count) => {
          if (count === diesAt) throw new Error('the process died here');
        },
      });
      await expect(mergeWal(attempt, dependencies)).rejects.toThrow('the process died here');
      expect(sorted(await readRows(target, { lsm: true }))).toEqual(expected);
      const again = await mergeWal(attemptOn(target), dependencies);
      expect(sorted(await readRows(target, { lsm: false }))).toEqual(expected);
      expect(sorted(await readRows(target, { lsm: true }))).toEqual(expected);
      expect(again.proof).toMatchObject({ rowsAfter: 130 });
      expect((await shardOf(target)).generations).toEqual([]);
    }
  });

  it('a second merger that planned from an older watermark stops before any commit', async () => {
    const { target } = await tableWith([[row(1, 1), row(700, 1)], [row(1, 2)]]);
    let version = 0;
    const late = attemptOn(target, {
      // The first commit is the index, the second the merge: the other merger comes between.
      onFence: async (count) => {
        if (count !== 2) return;
        await mergeWal(attemptOn(target), workDependencies());
        version = (await headOf(target)).version;
      },
    });
    await expect(mergeWal(late, workDependencies())).rejects.toMatchObject({
      code: 'WATERMARK_MOVED',
      disposition: 'contention',
    });
    expect((await headOf(target)).version).toBe(version);
    const expected = expectedRows(rows(0, 100, 0), [row(1, 2), row(700, 1)]);
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expected));
  });

  it('generations that are flushed while a merge runs stay listed, and the writer is neither fenced nor stopped', async () => {
    const { target, table } = await tableWith([[row(1, 1)], [row(1, 2)]]);
    const epoch = (await shardOf(target)).writerEpoch;
    const attempt = attemptOn(target, { onFence: (count) => flushGeneration(table, [row(800 + count, count)]) });
    await mergeWal(attempt, workDependencies());
    const shard = await shardOf(target);
    expect(shard.generations.map((generation) => generation.generation)).toEqual([1, 2, 3, 4, 5]);
    expect((await headOf(target)).memWal?.compacted.get(shard.shardId)).toBe(2);
    await flushGeneration(table, [row(900, 9)]);
    expect((await shardOf(target)).writerEpoch).toBeGreaterThanOrEqual(epoch);
    await mergeWal(attemptOn(target), workDependencies());
    const expected = expectedRows(rows(0, 100, 0), [row(1, 2), row(801, 1), row(802, 2), row(803, 3), row(900, 9)]);
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expected));
  });
});

describe('the key index before a merge', () => {
  it('a bitmap under the name of the key index is replaced by the BTree, once, before the merge', async () => {
    const { target, table } = await tableWith([[row(1, 1)], [row(2, 1)]]);
    await table.createIndex('id', { config: Index.bitmap(), name: 'id_idx' });
    const first = await mergeWal(attemptOn(target), workDependencies({ mergeMaxGenerations: 1 }));
    expect(first.metrics.merge_wal_index_built).toBe(1);
    const manifest = await headOf(target);
    expect(keyIndexOf(manifest, keyColumnOf(manifest))).toMatchObject({ name: 'id_idx', kind: 'BTree', exact: true });
    expect(manifest.indexes.filter((index) => index.name.startsWith('id_idx'))).toHaveLength(1);
    const second = await mergeWal(attemptOn(target), workDependencies({ mergeMaxGenerations: 1 }));
    expect(second.metrics.merge_wal_index_built).toBe(0);
  });

  it('without INDEX_BEFORE_MERGE a merge that would join the whole base table is refused and nothing is written', async () => {
    const { target } = await tableWith([[row(1, 1)]]);
    const version = (await headOf(target)).version;
    const refused = mergeWal(attemptOn(target), workDependencies({ indexBeforeMerge: false }));
    await expect(refused).rejects.toMatchObject({ code: 'KEY_INDEX_MISSING' });
    expect((await headOf(target)).version).toBe(version);
  });

  it('an index of the usual name on another column is left alone', async () => {
    const { target, table } = await tableWith([[row(1, 1)]]);
    await table.createIndex('n', { config: Index.bitmap(), name: 'id_idx' });
    await mergeWal(attemptOn(target), workDependencies());
    const manifest = await headOf(target);
    expect(manifest.indexes.map((index) => `${index.name} ${index.kind}`).sort()).toEqual([
      '__lance_mem_wal MemWal',
      'id_btree_idx BTree',
      'id_idx Bitmap',
    ]);
  });
});

describe('several shards', () => {
  it('all shards of a bucket-sharded store are merged in one pass with one watermark commit', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/buckets.lance`;
    const table = await createPlainTable(folder, 'buckets', rows(0, 200, 0));
    await table.setUnenforcedPrimaryKey('id');
    await table.setLsmWriteSpec({ specType: 'bucket', column: 'id', numBuckets: 4 });
    const layers = [rows(0, 60, 1), rows(30, 260, 2)];
    for (const layer of layers) await flushBuckets(folder, 'buckets', 4, layer);
    const result = await mergeWal(attemptOn(target), workDependencies());
    expect(result.metrics.merge_wal_generations).toBe(8);
    const manifest = await headOf(target);
    expect([...(manifest.memWal?.compacted.values() ?? [])]).toEqual([2, 2, 2, 2]);
    // One index build, one merge, one watermark.
    expect(result.versionAfter - result.versionBefore).toBe(3);
    const expected = sorted(expectedRows(rows(0, 200, 0), ...layers));
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(expected);
    expect(sorted(await readRows(target, { lsm: true }))).toEqual(expected);
  });

  it('one shard with a missing generation fails by name and the others are merged', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/buckets.lance`;
    const table = await createPlainTable(folder, 'buckets', rows(0, 50, 0));
    await table.setUnenforcedPrimaryKey('id');
    await table.setLsmWriteSpec({ specType: 'bucket', column: 'id', numBuckets: 3 });
    await flushBuckets(folder, 'buckets', 3, rows(0, 60, 1));
    const store = createFileObjectStore(target);
    const [lost] = await listShards(store);
    const shard = await readNewestShardManifest(store, lost as string);
    rmSync(`${target}/_mem_wal/${lost}/${shard?.generations[0]?.path}`, { recursive: true });
    const result = await mergeWal(attemptOn(target), workDependencies());
    expect(result.partial).toBe(`shard ${lost} failed: GENERATION_MISSING`);
    expect(result.proof.failedShards).toMatchObject([{ shardId: lost, code: 'GENERATION_MISSING' }]);
    const manifest = await headOf(target);
    expect(manifest.memWal?.compacted.size).toBe(2);
    expect(manifest.memWal?.compacted.has(lost as string)).toBe(false);
  });
});

describe('what a merge refuses', () => {
  async function refusal(target: string) {
    const before = (await headOf(target)).version;
    const error = await mergeWal(attemptOn(target), workDependencies()).catch((thrown: unknown) => thrown);
    expect((await headOf(target)).version).toBe(before);
    return error;
  }

  it('a generation whose directory is gone', async () => {
    const { target } = await tableWith([[row(1, 1)]]);
    const shard = await shardOf(target);
    rmSync(`${target}/_mem_wal/${shard.shardId}/${shard.generations[0]?.path}`, { recursive: true });
    expect(await refusal(target)).toMatchObject({ code: 'GENERATION_MISSING', disposition: 'permanent' });
  });

  it('a key that stands twice in the base table, with and without an index', async () => {
    const { target, table } = await tableWith([[row(1, 1)]]);
    await table.add(plainTable([row(1, 5)]) as never);
    expect(await refusal(target)).toMatchObject({ code: 'DUPLICATE_KEYS', disposition: 'permanent' });
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    expect(await refusal(target)).toMatchObject({ code: 'DUPLICATE_KEYS', disposition: 'permanent' });
  });

  it('a column of a generation that the base table has lost', async () => {
    const { target, table } = await tableWith([[row(1, 1)]]);
    await table.dropColumns(['payload']);
    expect(await refusal(target)).toMatchObject({
      code: 'SCHEMA_COLUMN_UNKNOWN',
      message: expect.stringContaining('"payload"'),
    });
  });

  it('a generation larger than every limit goes alone, and a byte budget ends the pass before the one that exceeds it', async () => {
    const { target } = await tableWith([rows(0, 50, 1), rows(0, 50, 2), rows(0, 50, 3)]);
    const shard = await shardOf(target);
    const size = shard.generations[0]?.inMemoryBytes as number;
    expect(size).toBeGreaterThan(0);
    const alone = await mergeWal(attemptOn(target), workDependencies({ mergeMaxBytes: 1 }));
    expect(alone.metrics.merge_wal_generations).toBe(1);
    const both = await mergeWal(attemptOn(target), workDependencies({ mergeMaxBytes: size * 2 + 1000 }));
    expect(both.metrics.merge_wal_generations).toBe(2);
  });
});

it('the scratch clones are gone after a merge, after a failed one too, and what a killed one left goes with the next', async () => {
  const { folder, target } = await tableWith([[row(1, 1)]]);
  const { scratchUri } = await import('../../../src/work/scratch.ts');
  const scratch = await connect(scratchUri(target));
  await scratch.createTable('left-by-a-killed-process', [{ id: 'a' }]);
  await mergeWal(attemptOn(target), workDependencies());
  expect(await scratch.tableNames()).toEqual([]);
  expect(await (await connect(folder)).tableNames()).toEqual(['events']);
});
