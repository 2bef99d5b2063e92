import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import type { TableFacts } from '../../../src/fleet/facts.ts';
import { observe } from '../../../src/fleet/observe.ts';
import type { ListOptions } from '../../../src/lance/object-store.ts';
import { commitWatermark } from '../../../src/lance/watermark.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { createPlainTable, enableWal, flushGeneration, plainTable, rows, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const settings = loadSettings({});
const hour = 3_600_000;

function look(target: string, options: { now?: number; previous?: TableFacts } = {}) {
  return observe(createFileObjectStore(target), target, settings, options.now ?? Date.now(), options.previous);
}

async function walTable(generations: number) {
  const database = temporaryFolder();
  const table = await createPlainTable(database, 't', rows(0, 50, 0));
  await enableWal(table);
  for (let n = 1; n <= generations; n += 1) await flushGeneration(table, rows(0, 10 * n, n));
  return { table, target: `${database}/t.lance` };
}

function shardFolder(target: string): string {
  const [shard] = readdirSync(join(target, '_mem_wal'));
  return join(target, '_mem_wal', shard ?? '');
}

function removeGeneration(target: string, generation: number): void {
  const folder = shardFolder(target);
  const name = readdirSync(folder).find((entry) => entry.endsWith(`_gen_${generation}`));
  rmSync(join(folder, name ?? 'none'), { recursive: true });
}

function onlyShard(facts: TableFacts) {
  const [shard] = facts.wal?.shards ?? [];
  if (shard === undefined) throw new Error('no shard was observed');
  return shard;
}

async function commit(target: string, shardId: string, generation: number): Promise<void> {
  await commitWatermark(createFileObjectStore(target), {
    watermarks: new Map([[shardId, generation]]),
    catchUpWhenIndexed: true,
    beforePut: async () => undefined,
    signal: new AbortController().signal,
  });
}

describe('the MemWAL of a table', () => {
  it('is counted with the rows, bytes and age of what waits', async () => {
    const started = Date.now();
    const { target } = await walTable(3);
    const shard = onlyShard(await look(target));
    expect(shard).toMatchObject({
      watermark: 0,
      pendingGenerations: 3,
      pendingRows: 60,
      mergedGenerations: 0,
      garbageDue: false,
      missingGeneration: null,
      blockedGenerations: 0,
    });
    expect(shard.pendingBytes).toBeGreaterThan(60 * 'payload 1 1'.length);
    expect(shard.oldestPending).toBeGreaterThanOrEqual(started - 1000);
    expect(shard.oldestPending).toBeLessThanOrEqual(Date.now());
  });

  it('is there without anything pending as soon as the write spec is set', async () => {
    const { target } = await walTable(0);
    expect((await look(target)).wal).toEqual({ shards: [] });
  });

  it('is counted per shard where buckets divide the rows', async () => {
    const database = temporaryFolder();
    const table = await createPlainTable(database, 't', rows(0, 50, 0));
    await enableWal(table, 1);
    await upsert(table).execute(plainTable(rows(0, 20, 1)) as never);
    await table.closeLsmWriters();
    const facts = await look(`${database}/t.lance`);
    expect(facts.wal?.shards.map((shard) => [shard.pendingGenerations, shard.pendingRows])).toEqual([[1, 20]]);
  });

  it('S13: is counted again although the base version did not move, since flushes never move it', async () => {
    const { table, target } = await walTable(1);
    const first = await look(target);
    for (let n = 2; n <= 4; n += 1) await flushGeneration(table, rows(0, 10, n));

    const second = await look(target, { previous: first });

    expect(second.version).toBe(first.version);
    expect(onlyShard(first).pendingGenerations).toBe(1);
    expect(onlyShard(second).pendingGenerations).toBe(4);
  });

  it('does not count what the watermark has passed', async () => {
    const { target } = await walTable(4);
    const { shardId } = onlyShard(await look(target));
    await commit(target, shardId, 3);
    expect(onlyShard(await look(target))).toMatchObject({
      watermark: 3,
      pendingGenerations: 1,
      pendingRows: 40,
      mergedGenerations: 3,
    });
  });

  it('holds garbage once a merge is older than the retention, and not before', async () => {
    const { target } = await walTable(2);
    const { shardId } = onlyShard(await look(target));
    await commit(target, shardId, 2);
    const now = Date.now();
    expect(onlyShard(await look(target, { now: now + hour - 60_000 })).garbageDue).toBe(false);
    expect(onlyShard(await look(target, { now: now + hour + 60_000 })).garbageDue).toBe(true);
  });

  it('names a generation whose directory is gone, and still counts all the rest', async () => {
    const { target } = await walTable(4);
    removeGeneration(target, 3);
    const facts = await look(target);
    expect(facts.error).toMatchObject({ code: 'GENERATION_MISSING', message: expect.stringContaining('Generation 3') });
    expect(facts.rows).toBe(50);
    expect(onlyShard(facts)).toMatchObject({ pendingGenerations: 4, missingGeneration: 3, blockedGenerations: 2 });
  });

  it('does not take for missing what a merge collected while it was looking', async () => {
    const { target } = await walTable(3);
    const { shardId } = onlyShard(await look(target));
    let raced = false;
    const store = createFileObjectStore(target);
    const racing = {
      ...store,
      async list(prefix: string, options?: ListOptions) {
        if (prefix === `_mem_wal/${shardId}/` && !raced) {
          raced = true;
          await commit(target, shardId, 3);
          for (const generation of [1, 2, 3]) removeGeneration(target, generation);
        }
        return store.list(prefix, options);
      },
    };
    const facts = await observe(racing, target, settings, Date.now());
    expect(raced).toBe(true);
    expect(facts.error).toBeUndefined();
    expect(onlyShard(facts)).toMatchObject({ watermark: 3, pendingGenerations: 0, mergedGenerations: 3 });
  });

  it('keeps what was known of a shard whose manifest is damaged, with the error', async () => {
    const { target } = await walTable(2);
    const first = await look(target);
    const manifests = join(shardFolder(target), 'manifest');
    for (const name of readdirSync(manifests)) {
      if (name.endsWith('.binpb')) writeFileSync(join(manifests, name), new Uint8Array([0xff, 0xff, 0xff]));
    }
    const second = await look(target, { previous: first });
    expect(second.error).toMatchObject({ code: 'SHARD_MANIFEST_UNREADABLE' });
    expect(second.wal).toEqual(first.wal);
  });
});
