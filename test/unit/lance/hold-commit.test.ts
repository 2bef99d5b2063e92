import { describe, expect, it } from 'vitest';
import { encodeHoldCommit, holdIn } from '../../../src/lance/hold.ts';
import { type HoldRequest, placeHold, removeHold } from '../../../src/lance/hold-commit.ts';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { readNewestManifest } from '../../../src/lance/newest.ts';
import { type ManifestFields, type MemoryStore, manifestBytes, memoryStore, v2Key } from './synthetic.ts';

const ids = (...list: number[]) => list.map((id) => ({ id, rows: 10 }));

function storeAt(version: number, parts: ManifestFields = {}): MemoryStore {
  return memoryStore({ [v2Key(version)]: manifestBytes({ version, fragments: ids(0, 1, 2), ...parts }) });
}

function request(more: Partial<HoldRequest> = {}): HoldRequest {
  return { beforePut: async () => {}, now: () => 1_800_000_000_000, ...more };
}

/** Runs `act` right before the first manifest is put: too late for the commit to see what it does. */
function racing(store: MemoryStore, act: () => void): MemoryStore {
  let done = false;
  return {
    ...store,
    putIfAbsent(key, bytes) {
      if (key.startsWith('_versions/') && !done) {
        done = true;
        act();
      }
      return store.putIfAbsent(key, bytes);
    },
  };
}

async function heldAtHead(store: MemoryStore): Promise<number[] | undefined> {
  const head = await readNewestManifest(store);
  const hold = head && holdIn(head);
  return hold && [...hold.fragments];
}

function transactionFiles(store: MemoryStore): string[] {
  return [...store.objects.keys()].filter((key) => key.endsWith('.txn'));
}

describe('placing a hold', () => {
  it('keeps all fragments but those of the group, the transaction first and then the manifest', async () => {
    const store = storeAt(7);
    expect(await placeHold(store, [1], request())).toMatchObject({ version: 8 });
    expect(await heldAtHead(store)).toEqual([0, 2]);
    const puts = store.calls.filter((call) => call.startsWith('put'));
    expect(puts).toEqual([expect.stringMatching(/^put _transactions\/7-.*\.txn$/), `put ${v2Key(8)}`]);
  });

  it('with an empty group keeps every fragment', async () => {
    const store = storeAt(7);
    await placeHold(store, [], request());
    expect(await heldAtHead(store)).toEqual([0, 1, 2]);
  });

  it('redoes a lost race over the new head and keeps what came with it', async () => {
    const store = storeAt(7);
    const head = { version: 8, fragments: ids(0, 1, 2, 3) };
    await placeHold(
      racing(store, () => store.objects.set(v2Key(8), manifestBytes(head))),
      [1],
      request(),
    );
    expect(await heldAtHead(store)).toEqual([0, 2, 3]);
  });

  it('keeps its transaction over a lost race that changes nothing for it', async () => {
    const store = storeAt(7);
    const head = { version: 8, fragments: ids(0, 1, 2) };
    await placeHold(
      racing(store, () => store.objects.set(v2Key(8), manifestBytes(head))),
      [1],
      request(),
    );
    expect(transactionFiles(store)).toHaveLength(1);
    const [file] = transactionFiles(store);
    const manifest = decodeManifest(v2Key(9), store.objects.get(v2Key(9)) as Uint8Array);
    expect(file).toBe(`_transactions/7-${manifest.transaction?.uuid}.txn`);
  });

  it('gives up when a fragment of the group was rewritten meanwhile, and leaves no hold', async () => {
    const store = storeAt(7);
    const head = { version: 8, fragments: ids(0, 2, 3) };
    const lost = placeHold(
      racing(store, () => store.objects.set(v2Key(8), manifestBytes(head))),
      [1],
      request(),
    );
    await expect(lost).rejects.toMatchObject({ code: 'HOLD_CONFLICT', disposition: 'contention' });
    expect(await heldAtHead(store)).toBeUndefined();
  });

  it('is placed once although the answer to its put was lost', async () => {
    const store = storeAt(7);
    let lost = 0;
    const deaf: MemoryStore = {
      ...store,
      async putIfAbsent(key, bytes) {
        await store.putIfAbsent(key, bytes);
        if (!key.startsWith('_versions/')) return 'created';
        lost += 1;
        return 'exists';
      },
    };
    await placeHold(deaf, [1], request());
    expect([lost, store.objects.has(v2Key(9))]).toEqual([1, false]);
  });

  it('is redone when a cleanup took our version number away below a newer head', async () => {
    const store = storeAt(7);
    const head = { version: 9, fragments: ids(0, 1, 2) };
    await placeHold(
      racing(store, () => store.objects.set(v2Key(9), manifestBytes(head))),
      [1],
      request(),
    );
    expect((await readNewestManifest(store))?.version).toBe(10);
    expect(await heldAtHead(store)).toEqual([0, 2]);
  });

  it('asks for the lease before each put, and puts nothing without it', async () => {
    const store = storeAt(7);
    const lost = request({ beforePut: () => Promise.reject(new Error('lost')) });
    await expect(placeHold(store, [1], lost)).rejects.toThrow('lost');
    expect(store.calls.filter((call) => call.startsWith('put'))).toEqual([]);
  });

  it('gives up against writers that are faster every time', async () => {
    const store = storeAt(7);
    let version = 7;
    const tight: MemoryStore = {
      ...store,
      async putIfAbsent(key, bytes) {
        if (key.startsWith('_versions/')) {
          version += 1;
          store.objects.set(v2Key(version), manifestBytes({ version, fragments: ids(0, 1, 2) }));
        }
        return store.putIfAbsent(key, bytes);
      },
    };
    await expect(placeHold(tight, [1], request())).rejects.toMatchObject({ code: 'HOLD_CONFLICT' });
  });

  it('writes nothing to a table with a feature that is not known', async () => {
    const store = storeAt(7, { writerFlags: 1 << 12 });
    await expect(placeHold(store, [1], request())).rejects.toMatchObject({ code: 'MANIFEST_UNSUPPORTED' });
    expect(store.calls.filter((call) => call.startsWith('put'))).toEqual([]);
  });
});

describe('taking a hold away', () => {
  it('leaves the table without one, and commits nothing when there is none', async () => {
    const store = storeAt(7);
    await placeHold(store, [1], request());
    expect(await removeHold(store, request())).toMatchObject({ version: 9 });
    expect(await heldAtHead(store)).toBeUndefined();
    expect(await removeHold(store, request())).toMatchObject({ version: 9 });
  });

  it('is redone over whatever is committed first', async () => {
    const store = storeAt(7);
    const held = await placeHold(store, [1], request());
    const uuids = { transaction: 'foreign', index: '99999999-0000-4000-8000-000000000003' };
    const next = encodeHoldCommit(held, { held: [0], now: 1, uuids });
    const removed = await removeHold(
      racing(store, () => store.objects.set(next.manifestKey, next.manifestBytes)),
      request(),
    );
    expect(removed.version).toBe(10);
    expect(await heldAtHead(store)).toBeUndefined();
  });
});
