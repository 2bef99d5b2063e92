import { describe, expect, it } from 'vitest';
import { shardManifestKey } from '../../../src/lance/manifest-names.ts';
import { decodeShardManifest, drainedShardManifest } from '../../../src/lance/shard-manifest.ts';
import { drainShard, generationPrefix, listShards, readNewestShardManifest } from '../../../src/lance/shards.ts';
import { bytesField, concatBytes, textField, uuidField, varintField } from '../../../src/lance/wire-writer.ts';
import { memoryStore, SHARD_A, SHARD_B } from './synthetic.ts';

const UNKNOWN = textField(40, 'not known to this version');

function generation(number: number, path = `0000000${number}_gen_${number}`): Uint8Array {
  return bytesField(
    8,
    concatBytes([varintField(1, number), textField(2, path), varintField(4, 5), textField(9, 'unknown')]),
  );
}

function shardBytes(version: number, generations: readonly number[], extra: readonly Uint8Array[] = []): Uint8Array {
  return concatBytes([
    varintField(1, version),
    varintField(2, 3),
    varintField(6, 9),
    ...generations.map((number) => generation(number)),
    varintField(10, 1),
    uuidField(11, SHARD_A),
    UNKNOWN,
    ...extra,
  ]);
}

function storeOf(manifests: Readonly<Record<number, readonly number[]>>, hint?: string) {
  const store = memoryStore();
  for (const [version, generations] of Object.entries(manifests)) {
    store.objects.set(shardManifestKey(SHARD_A, Number(version)), shardBytes(Number(version), generations));
  }
  if (hint !== undefined) store.objects.set(`_mem_wal/${SHARD_A}/manifest/version_hint.json`, Buffer.from(hint));
  return store;
}

const key = shardManifestKey(SHARD_A, 4);

describe('a shard manifest', () => {
  it('lists its generations in ascending order, with sizes only where they were recorded', () => {
    expect(decodeShardManifest(SHARD_A, key, shardBytes(4, [2, 1]))).toMatchObject({
      shardId: SHARD_A,
      version: 4,
      writerEpoch: 3,
      currentGeneration: 9,
      status: 'ACTIVE',
      generations: [
        { generation: 1, path: '00000001_gen_1', physicalRows: 5 },
        { generation: 2, path: '00000002_gen_2', physicalRows: 5 },
      ],
    });
    expect(decodeShardManifest(SHARD_A, key, shardBytes(4, [1])).generations[0]).not.toHaveProperty('inMemoryBytes');
    expect(decodeShardManifest(SHARD_A, key, shardBytes(4, [], [varintField(15, 1)])).status).toBe('SEALED');
  });

  it('is refused on damage: cut, of another version or shard, or with a path that leads elsewhere', () => {
    const whole = shardBytes(4, [1, 2]);
    const code = expect.objectContaining({
      code: 'SHARD_MANIFEST_UNREADABLE',
      details: { file: key, offset: expect.any(Number), expected: expect.any(String) },
    });
    const shardIdEnd = whole.length - UNKNOWN.length;
    for (let length = 0; length < shardIdEnd; length++) {
      expect(() => decodeShardManifest(SHARD_A, key, whole.subarray(0, length)), `cut to ${length}`).toThrow(code);
    }
    expect(() => decodeShardManifest(SHARD_B, key, whole)).toThrow(code);
    expect(() => decodeShardManifest(SHARD_A, key, shardBytes(5, []))).toThrow(code);
    for (const path of ['', '..', '../../other.lance', '/etc', '.hidden']) {
      const bytes = concatBytes([shardBytes(4, []), generation(1, path)]);
      expect(() => decodeShardManifest(SHARD_A, key, bytes), path).toThrow(code);
    }
  });

  it('is unsupported with a status that is not known', () => {
    expect(() => decodeShardManifest(SHARD_A, key, shardBytes(4, [], [varintField(15, 2)]))).toThrow(
      expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED' }),
    );
  });

  it('loses by a drain the merged generations and gains a version; all else keeps its bytes', () => {
    const drained = drainedShardManifest(decodeShardManifest(SHARD_A, key, shardBytes(4, [1, 2, 3])), new Set([1, 3]));
    expect(drained.key).toBe(shardManifestKey(SHARD_A, 5));
    expect(drained.bytes).toEqual(shardBytes(5, [2]));
  });

  it('names the directory of a generation', () => {
    expect(generationPrefix(SHARD_A, { path: 'ab_gen_1' })).toBe(`_mem_wal/${SHARD_A}/ab_gen_1/`);
  });
});

describe('finding shards', () => {
  it('lists the directories that are named by a shard id', async () => {
    const store = storeOf({ 1: [] });
    store.objects.set(`_mem_wal/${SHARD_B}/wal/1.arrow`, new Uint8Array());
    store.objects.set('_mem_wal/notes/readme', new Uint8Array());
    expect(await listShards(store)).toEqual([SHARD_B, SHARD_A]);
  });

  it('goes on from the hint to the newest version, since the hint lags behind', async () => {
    expect(await readNewestShardManifest(storeOf({ 1: [], 2: [], 3: [1] }, '{"version":2}'), SHARD_A)).toMatchObject({
      version: 3,
    });
    expect(await readNewestShardManifest(storeOf({ 1: [], 2: [] }, '{"version":2}'), SHARD_A)).toMatchObject({
      version: 2,
    });
  });

  it.each([
    ['no hint', undefined],
    ['a hint that is no hint', 'oops'],
    ['a hint to nowhere', '{"version":77}'],
    ['a hint far behind', '{"version":1}'],
  ])('lists with %s', async (_, hint) => {
    const versions = Object.fromEntries(Array.from({ length: 20 }, (__, index) => [index + 1, [index]]));
    expect(await readNewestShardManifest(storeOf(versions, hint), SHARD_A)).toMatchObject({ version: 20 });
  });

  it('costs no listing while the hint is at most a few versions behind', async () => {
    const versions = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [index + 1, []]));
    const store = storeOf(versions, '{"version":1}');
    expect(await readNewestShardManifest(store, SHARD_A)).toMatchObject({ version: 8 });
    expect(store.calls.filter((call) => call.startsWith('list'))).toEqual([]);
  });

  it('is undefined for a shard without a manifest', async () => {
    expect(await readNewestShardManifest(memoryStore(), SHARD_A)).toBeUndefined();
  });
});

describe('draining', () => {
  it('puts the next version without the merged generations, once', async () => {
    const store = storeOf({ 1: [1, 2, 3] });
    expect(await drainShard(store, SHARD_A, new Set([1, 2]))).toEqual({ version: 2 });
    expect(store.objects.get(shardManifestKey(SHARD_A, 2))).toEqual(shardBytes(2, [3]));
    expect(await drainShard(store, SHARD_A, new Set([1, 2]))).toBe('nothing');
  });

  it('keeps what a live writer put in between', async () => {
    const store = storeOf({ 1: [1, 2] });
    let writer = () => {
      store.objects.set(shardManifestKey(SHARD_A, 2), shardBytes(2, [1, 2, 3]));
      writer = () => {};
    };
    expect(await drainShard(store, SHARD_A, new Set([1, 2]), { beforePut: async () => writer() })).toEqual({
      version: 3,
    });
    expect(store.objects.get(shardManifestKey(SHARD_A, 3))).toEqual(shardBytes(3, [3]));
  });

  it('gives way, as contention, to a writer that is first every time', async () => {
    const store = storeOf({ 1: [1] });
    let version = 1;
    const beforePut = async () => {
      version++;
      store.objects.set(shardManifestKey(SHARD_A, version), shardBytes(version, [1]));
    };
    await expect(drainShard(store, SHARD_A, new Set([1]), { beforePut })).rejects.toMatchObject({
      code: 'SHARD_CONFLICT',
      disposition: 'contention',
    });
  });

  it('puts nothing after the lease is lost or the work was called off', async () => {
    const store = storeOf({ 1: [1] });
    const lost = new Error('lease lost');
    await expect(drainShard(store, SHARD_A, new Set([1]), { beforePut: () => Promise.reject(lost) })).rejects.toBe(
      lost,
    );
    await expect(drainShard(store, SHARD_A, new Set([1]), { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(store.calls.some((call) => call.startsWith('put'))).toBe(false);
  });
});
