import { Index, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { listShards } from '../../../src/lance/shards.ts';
import { commitWatermark } from '../../../src/lance/watermark.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import {
  createPlainTable,
  enableWal,
  flushBuckets,
  plainTable,
  readRows,
  row,
  rows,
  upsert,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import {
  beforeManifest,
  head,
  mergeIntoBase,
  openAnew,
  seen,
  type WalStory,
  walStory,
  watermark,
  watermarkRequest,
} from './wal-story.ts';

/** Every kind of commit that LanceDB makes on a table with a MemWAL. */
const commits: Readonly<Record<string, (table: Table) => Promise<unknown>>> = {
  add: (table) => table.add(plainTable(rows(40, 45, 1)) as never),
  mergeInsert: (table) =>
    upsert(table)
      .useLsm(false)
      .execute(plainTable(rows(18, 22, 2)) as never),
  createIndex: (table) => table.createIndex('id', { config: Index.btree(), name: 'id_idx' }),
  delete: (table) => table.delete("id = 'key-000010'"),
  update: (table) => table.update({ where: "id = 'key-000011'", values: { n: 9 } }),
  optimize: (table) => table.optimize(),
};

describe('a watermark that we commit', () => {
  it('is opened by LanceDB, whose readers then skip the merged generations and no others', async () => {
    const story = await walStory(temporaryFolder(), 2);
    expect(await seen(story)).toBe(102);
    await mergeIntoBase(story, 500);
    expect(await seen(story), 'without a watermark a generation outranks the base').toBe(102);
    await commitWatermark(story.store, watermarkRequest(story, 1));
    expect(await seen(story), 'generation 2 is not merged yet').toBe(102);
    await commitWatermark(story.store, watermarkRequest(story, 2));
    expect(await seen(story)).toBe(500);
    expect((await readRows(story.target, { lsm: true })).size).toBe(20);
    expect(await (await openAnew(story)).version()).toBe((await head(story)).version);
  });

  it('survives every later commit of LanceDB, one after the other', async () => {
    const story = await walStory(temporaryFolder(), 2);
    await mergeIntoBase(story, 500);
    const { version } = await commitWatermark(story.store, watermarkRequest(story, 2));
    for (const [name, act] of Object.entries(commits)) {
      await act(await openAnew(story));
      expect(await watermark(story), name).toBe(2);
      expect(await seen(story), name).toBe(500);
    }
    expect((await head(story)).version).toBeGreaterThan(version + Object.keys(commits).length);
  });

  it.each(Object.entries(commits))('does not stop %s from a handle that was opened before it', async (_, act) => {
    const story = await walStory(temporaryFolder(), 1, async (table) => {
      await table.add(plainTable(rows(20, 30, 0)) as never);
    });
    const stale = await openAnew(story);
    await stale.countRows();
    await commitWatermark(story.store, watermarkRequest(story, 1));
    await act(stale);
    expect(await watermark(story)).toBe(1);
  });

  it('covers several shards in one commit', async () => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 't', rows(0, 20, 0));
    await enableWal(table, 2);
    await flushBuckets(folder, 't', 2, rows(0, 20, 7));
    const store = createFileObjectStore(`${folder}/t.lance`);
    const shardIds = await listShards(store);
    const story: WalStory = { folder, target: store.uri, table, store, shardId: '' };
    await upsert(await openAnew(story))
      .useLsm(false)
      .execute(plainTable(rows(0, 20, 500)) as never);
    expect(await seen(story)).toBe(7);
    const watermarks = new Map(shardIds.map((shardId) => [shardId, 1]));
    await commitWatermark(store, watermarkRequest(story, 0, { watermarks }));
    const content = await readRows(story.target, { lsm: true });
    expect(new Set([...content.values()].map(({ n }) => Number(n)))).toEqual(new Set([500]));
  });
});

describe('commits that race with ours', () => {
  it('win, and ours is redone over them with nothing lost', async () => {
    const story = await walStory(temporaryFolder(), 1);
    await mergeIntoBase(story, 500);
    const other = await openAnew(story);
    let races = 0;
    const racing = beforeManifest(story, async () => {
      if (races++ < 3) await other.add([row(900 + races, races)] as never);
    });
    const result = await commitWatermark(racing, watermarkRequest(story, 1));
    expect(result).toMatchObject({ attempts: 4, already: false });
    expect(await watermark(story)).toBe(1);
    expect((await readRows(story.target, { lsm: true })).size).toBe(23);
    expect(await seen(story)).toBe(500);
  });

  it('lose against ours and rebase over it, while many go on at once', async () => {
    const story = await walStory(temporaryFolder(), 8);
    let running = true;
    let added = 0;
    const writer = (async () => {
      const table = await openAnew(story);
      while (running) await table.add([row(1000 + added++, 0)] as never);
    })();
    for (let generation = 1; generation <= 8; generation++) {
      const before = added;
      while (added === before) await new Promise((resolve) => setTimeout(resolve, 1));
      await commitWatermark(story.store, watermarkRequest(story, generation));
      expect(await watermark(story)).toBe(generation);
    }
    running = false;
    await writer;
    expect(added).toBeGreaterThanOrEqual(8);
    expect(await (await openAnew(story)).countRows()).toBe(20 + added);
    expect(await watermark(story)).toBe(8);
  });

  it('are noticed when a cleanup made room for ours below the head: nothing counts as merged until it is in the head', async () => {
    const story = await walStory(temporaryFolder(), 1);
    await mergeIntoBase(story, 500);
    let done = false;
    const racing = beforeManifest(story, async () => {
      if (done) return;
      done = true;
      const other = await openAnew(story);
      await other.add([row(901, 1)] as never);
      await other.add([row(902, 2)] as never);
      await other.optimize({ cleanupOlderThan: new Date(), deleteUnverified: true });
    });
    await expect(commitWatermark(racing, watermarkRequest(story, 1))).rejects.toMatchObject({
      code: 'WATERMARK_CONFLICT',
      disposition: 'contention',
    });
    expect(await watermark(story)).toBeUndefined();
    expect(await seen(story)).toBe(101);
    // What the next attempt does: merge again, then the watermark over the head of now.
    await mergeIntoBase(story, 500);
    await commitWatermark(story.store, watermarkRequest(story, 1));
    expect(await seen(story)).toBe(500);
    expect((await readRows(story.target, { lsm: true })).size).toBe(22);
  });

  it('that restore the table to before the merge keep the watermark out, so that readers still get the generation', async () => {
    const story = await walStory(temporaryFolder(), 1);
    const before = (await head(story)).version;
    await mergeIntoBase(story, 101);
    const mergedAt = (await head(story)).version;
    const other = await openAnew(story);
    await other.checkout(before);
    await other.restore();
    expect(await seen(story, { lsm: false })).toBe(0);
    await expect(commitWatermark(story.store, watermarkRequest(story, 1, { mergedAt }))).rejects.toMatchObject({
      code: 'WATERMARK_CONFLICT',
    });
    expect(await seen(story)).toBe(101);
  });
});
