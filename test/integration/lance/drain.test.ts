import { describe, expect, it } from 'vitest';
import { drainShard, generationPrefix } from '../../../src/lance/shards.ts';
import { commitWatermark } from '../../../src/lance/watermark.ts';
import { flushGeneration, plainTable, readRows, rows, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { mergeIntoBase, openAnew, seen, shard, type WalStory, walStory, watermarkRequest } from './wal-story.ts';

async function mergedThrough(story: WalStory, generation: number): Promise<void> {
  await mergeIntoBase(story, 500);
  await commitWatermark(story.store, watermarkRequest(story, generation));
}

async function removeDirectory(story: WalStory, generation: number): Promise<void> {
  const listed = (await shard(story)).generations.find((candidate) => candidate.generation === generation);
  if (!listed) throw new Error(`generation ${generation} is not listed`);
  for (const { key } of (await story.store.list(generationPrefix(story.shardId, listed))).objects)
    await story.store.delete(key);
}

describe('draining a shard', () => {
  it('leaves a live writer at work: its next flush keeps the drain and its epoch', async () => {
    const story = await walStory(temporaryFolder(), 2);
    const writer = await openAnew(story);
    await upsert(writer).execute(plainTable(rows(5, 8, 300)) as never);
    const { writerEpoch } = await shard(story);
    await mergedThrough(story, 2);
    for (const generation of [1, 2]) await removeDirectory(story, generation);
    const { version } = (await drainShard(story.store, story.shardId, new Set([1, 2]))) as { version: number };
    expect(await shard(story)).toMatchObject({ version, writerEpoch, generations: [] });

    await upsert(writer).execute(plainTable(rows(6, 9, 301)) as never);
    await writer.closeLsmWriters();
    const flushed = await shard(story);
    expect(flushed.version).toBeGreaterThan(version);
    expect(flushed.generations.map(({ generation }) => generation)).toEqual([3]);
    expect(flushed.writerEpoch, 'the drain has claimed no epoch').toBe(writerEpoch);
    const content = await readRows(story.target, { lsm: true });
    const byN = [...content.values()].map(({ n }) => Number(n));
    expect(content.size).toBe(20);
    expect([500, 300, 301, 0].map((n) => byN.filter((value) => value === n).length)).toEqual([5, 1, 3, 11]);
  });

  it('is kept by a writer that starts later, with a new epoch', async () => {
    const story = await walStory(temporaryFolder(), 2);
    await mergedThrough(story, 1);
    await removeDirectory(story, 1);
    await drainShard(story.store, story.shardId, new Set([1]));
    const before = await shard(story);
    await flushGeneration(await openAnew(story), rows(0, 1, 400));
    const after = await shard(story);
    expect(after.generations.map(({ generation }) => generation)).toEqual([2, 3]);
    expect(after.writerEpoch).toBe(before.writerEpoch + 1);
    expect(await seen(story)).toBe(102);
  });

  it('holds against a writer that flushes all the while', async () => {
    const story = await walStory(temporaryFolder(), 1);
    const writer = await openAnew(story);
    let flushes = 0;
    const flushing = (async () => {
      for (; flushes < 6; flushes++) await flushGeneration(writer, rows(10, 12, 600 + flushes));
    })();
    await mergedThrough(story, 1);
    let drained = 0;
    while (flushes < 6) {
      const listed = (await shard(story)).generations.map(({ generation }) => generation);
      const merged = listed.filter((generation) => generation === 1 || generation < Math.max(...listed));
      if (merged.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      else if ((await drainShard(story.store, story.shardId, new Set(merged))) !== 'nothing') drained++;
    }
    await flushing;
    expect(drained).toBeGreaterThan(1);
    expect((await shard(story)).currentGeneration).toBe(8);
    expect((await shard(story)).generations.at(-1)?.generation).toBe(7);
  });
});
