import { describe, expect, it } from 'vitest';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { readNewestManifest } from '../../../src/lance/newest.ts';
import { commitWatermark, type WatermarkRequest } from '../../../src/lance/watermark.ts';
import {
  type ManifestFields,
  type MemoryStore,
  manifestBytes,
  memoryStore,
  memWalIndex,
  SHARD_A,
  SHARD_B,
  v2Key,
} from './synthetic.ts';

const fragments = [{ id: 0, rows: 10 }];

function storeAt(version: number, parts: ManifestFields = {}) {
  return memoryStore({
    [v2Key(version)]: manifestBytes({ version, fragments, indexes: [memWalIndex({ [SHARD_A]: 1 })], ...parts }),
  });
}

function request(watermarks: Readonly<Record<string, number>>, more: Partial<WatermarkRequest> = {}): WatermarkRequest {
  return {
    watermarks: new Map(Object.entries(watermarks)),
    catchUpWhenIndexed: false,
    beforePut: async () => {},
    signal: new AbortController().signal,
    ...more,
  };
}

/** Runs `act` right before each manifest is put: too late for the commit to see what it does. */
function beforeManifest(store: MemoryStore, act: () => void): MemoryStore {
  return {
    ...store,
    putIfAbsent(key, bytes) {
      if (key.startsWith('_versions/')) act();
      return store.putIfAbsent(key, bytes);
    },
  };
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}

/** What another writer commits: the head's content as the next version. */
function foreignCommit(store: MemoryStore, version: number, parts: ManifestFields = {}): void {
  const bytes = manifestBytes({
    version,
    fragments,
    indexes: [memWalIndex({ [SHARD_A]: 1 })],
    transactionUuid: `foreign-${version}`,
    ...parts,
  });
  store.objects.set(v2Key(version), bytes);
}

async function watermarkAtHead(store: MemoryStore) {
  return (await readNewestManifest(store))?.memWal?.compacted;
}

function transactionFiles(store: MemoryStore): string[] {
  return [...store.objects.keys()].filter((key) => key.endsWith('.txn'));
}

function puts(store: MemoryStore): string[] {
  return store.calls.filter((call) => call.startsWith('put _versions'));
}

describe('committing the watermark', () => {
  it('puts the transaction first and then the manifest, over the head', async () => {
    const store = storeAt(7);
    expect(await commitWatermark(store, request({ [SHARD_A]: 5, [SHARD_B]: 2 }))).toEqual({
      version: 8,
      attempts: 1,
      already: false,
    });
    expect(await watermarkAtHead(store)).toEqual(
      new Map([
        [SHARD_A, 5],
        [SHARD_B, 2],
      ]),
    );
    const written = store.calls.filter((call) => call.startsWith('put'));
    expect(written).toEqual([expect.stringMatching(/^put _transactions\/7-.*\.txn$/), `put ${v2Key(8)}`]);
  });

  it('commits nothing when the head has it already', async () => {
    const store = storeAt(7);
    expect(await commitWatermark(store, request({ [SHARD_A]: 1 }))).toEqual({ version: 7, attempts: 0, already: true });
    expect(puts(store)).toEqual([]);
  });

  it('redoes a lost race over the new head with the same transaction, which still says what it had read', async () => {
    const store = storeAt(7);
    const racing = beforeManifest(
      store,
      once(() => foreignCommit(store, 8)),
    );
    expect(await commitWatermark(racing, request({ [SHARD_A]: 5 }))).toEqual({
      version: 9,
      attempts: 2,
      already: false,
    });
    expect(await watermarkAtHead(store)).toEqual(new Map([[SHARD_A, 5]]));
    const { transaction } = decodeManifest(v2Key(9), store.objects.get(v2Key(9)) as Uint8Array);
    expect(transaction).toMatchObject({ operation: 'Update', readVersion: 7 });
    expect(transactionFiles(store)).toEqual([`_transactions/7-${transaction?.uuid}.txn`]);
  });

  it('is done when the winner of the race had the same watermark', async () => {
    const store = storeAt(7);
    const racing = beforeManifest(
      store,
      once(() => foreignCommit(store, 8, { indexes: [memWalIndex({ [SHARD_A]: 6 })] })),
    );
    expect(await commitWatermark(racing, request({ [SHARD_A]: 5 }))).toEqual({
      version: 8,
      attempts: 1,
      already: false,
    });
    expect(puts(store)).toHaveLength(1);
    expect(transactionFiles(store), 'the transaction of no commit is taken back').toEqual([]);
  });

  it('makes a new transaction when the winner of the race raised a part of ours', async () => {
    const store = storeAt(7);
    const winner = { indexes: [memWalIndex({ [SHARD_A]: 1, [SHARD_B]: 2 })] };
    const racing = beforeManifest(
      store,
      once(() => foreignCommit(store, 8, winner)),
    );
    await commitWatermark(racing, request({ [SHARD_A]: 5, [SHARD_B]: 2 }));
    expect(await watermarkAtHead(store)).toEqual(
      new Map([
        [SHARD_A, 5],
        [SHARD_B, 2],
      ]),
    );
    expect(transactionFiles(store)).toEqual([expect.stringMatching(/^_transactions\/8-/)]);
  });

  it('knows its own commit again when the answer to the put was lost', async () => {
    const store = storeAt(7);
    const put = store.putIfAbsent;
    store.putIfAbsent = async (key, bytes) => {
      await put(key, bytes);
      return 'exists';
    };
    expect(await commitWatermark(store, request({ [SHARD_A]: 5 }))).toEqual({
      version: 8,
      attempts: 1,
      already: false,
    });
    expect(transactionFiles(store)).toHaveLength(1);
  });

  it('is content when others commit on top and keep the watermark', async () => {
    const store = storeAt(7);
    const put = store.putIfAbsent;
    store.putIfAbsent = async (key, bytes) => {
      const answer = await put(key, bytes);
      if (key === v2Key(8)) foreignCommit(store, 9, { indexes: [memWalIndex({ [SHARD_A]: 5 })] });
      return answer;
    };
    expect(await commitWatermark(store, request({ [SHARD_A]: 5 }))).toEqual({
      version: 9,
      attempts: 1,
      already: false,
    });
  });

  it('does not take a put below a newer head for a commit, when a cleanup removed the version in between', async () => {
    const store = storeAt(7);
    const cleanup = once(() => {
      foreignCommit(store, 9);
      store.objects.delete(v2Key(7));
    });
    const racing = beforeManifest(store, cleanup);
    await expect(commitWatermark(racing, request({ [SHARD_A]: 5 }))).rejects.toMatchObject({
      code: 'WATERMARK_CONFLICT',
      disposition: 'contention',
    });
    // The next attempt starts from the head and gets through.
    expect(await commitWatermark(store, request({ [SHARD_A]: 5 }))).toMatchObject({ version: 10 });
    expect(await watermarkAtHead(store)).toEqual(new Map([[SHARD_A, 5]]));
  });

  it('is not written over a restore or an overwrite since the merge, which took the merged rows away', async () => {
    for (const operation of [102, 106]) {
      const store = storeAt(7);
      foreignCommit(store, 8, { operation });
      foreignCommit(store, 9);
      await expect(commitWatermark(store, request({ [SHARD_A]: 5 }, { mergedAt: 7 }))).rejects.toMatchObject({
        code: 'WATERMARK_CONFLICT',
      });
      expect(puts(store)).toEqual([]);
    }
  });

  it('is not written over a restore that wins the race', async () => {
    const store = storeAt(7);
    const racing = beforeManifest(
      store,
      once(() => foreignCommit(store, 8, { operation: 106 })),
    );
    await expect(commitWatermark(racing, request({ [SHARD_A]: 5 }))).rejects.toMatchObject({
      code: 'WATERMARK_CONFLICT',
    });
    expect(await watermarkAtHead(store)).toEqual(new Map([[SHARD_A, 1]]));
  });

  it('gives up as contention when others are first every time', async () => {
    const store = storeAt(7);
    let version = 7;
    const racing = beforeManifest(store, () => {
      version++;
      foreignCommit(store, version);
    });
    await expect(commitWatermark(racing, request({ [SHARD_A]: 5 }))).rejects.toMatchObject({
      code: 'WATERMARK_CONFLICT',
      disposition: 'contention',
    });
  });

  it('writes nothing once the lease is lost or the work was called off', async () => {
    const store = storeAt(7);
    const lost = new Error('lease lost');
    await expect(
      commitWatermark(store, request({ [SHARD_A]: 5 }, { beforePut: () => Promise.reject(lost) })),
    ).rejects.toBe(lost);
    await expect(commitWatermark(store, request({ [SHARD_A]: 5 }, { signal: AbortSignal.abort() }))).rejects.toThrow();
    expect(store.calls.some((call) => call.startsWith('put'))).toBe(false);
  });

  it('records catch-up for the indexes that leave no row unindexed, and for no other', async () => {
    const store = storeAt(7, {
      fragments: [...fragments, { id: 1, rows: 5 }],
      indexes: [
        { name: 'id_idx', fieldIds: [0], covers: [0, 1] },
        { name: 'v_idx', fieldIds: [1], covers: [0] },
        memWalIndex({ [SHARD_A]: 1, [SHARD_B]: 3 }),
      ],
    });
    await commitWatermark(store, request({ [SHARD_A]: 5 }, { catchUpWhenIndexed: true }));
    const head = await readNewestManifest(store);
    expect(head?.memWal?.catchUp).toEqual(
      new Map([
        [
          'id_idx',
          new Map([
            [SHARD_A, 5],
            [SHARD_B, 3],
          ]),
        ],
      ]),
    );
    expect(await commitWatermark(store, request({ [SHARD_A]: 5 }, { catchUpWhenIndexed: true }))).toMatchObject({
      already: true,
    });
  });

  it('never dates a version before the one it follows', async () => {
    const store = storeAt(7, { timestampMs: 1_900_000_000_000 });
    await commitWatermark(store, request({ [SHARD_A]: 5 }, { now: () => 1_800_000_000_000 }));
    expect(decodeManifest(v2Key(8), store.objects.get(v2Key(8)) as Uint8Array).timestamp).toBe(1_900_000_000_000);
  });

  it('refuses tables that must not be written, and targets that are no tables', async () => {
    await expect(commitWatermark(storeAt(7, { readerFlags: 2 }), request({ [SHARD_A]: 5 }))).rejects.toMatchObject({
      code: 'MANIFEST_UNSUPPORTED',
    });
    await expect(commitWatermark(storeAt(7, { indexes: [] }), request({ [SHARD_A]: 5 }))).rejects.toMatchObject({
      code: 'MANIFEST_UNSUPPORTED',
    });
    await expect(commitWatermark(memoryStore(), request({ [SHARD_A]: 5 }))).rejects.toMatchObject({
      code: 'TABLE_NOT_FOUND',
    });
  });
});
