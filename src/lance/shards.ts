import { shardConflict } from './errors.ts';
import { parseShardManifestKey, shardManifestKey, shardManifestPrefix } from './manifest-names.ts';
import type { ObjectStore } from './object-store.ts';
import { decodeShardManifest, drainedShardManifest, type ShardManifest } from './shard-manifest.ts';

export type { Generation, ShardManifest } from './shard-manifest.ts';
export { drainedShardManifest } from './shard-manifest.ts';

const MEM_WAL_PREFIX = '_mem_wal/';
const SHARD_DIRECTORY = /^_mem_wal\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/$/;
/** Past this many versions behind, one listing is cheaper than probing on. */
const MAX_PROBES = 8;
const DRAIN_ATTEMPTS = 20;

/** Shard ids with a directory, sorted, whether or not the table still has an LSM write spec. */
export async function listShards(store: ObjectStore): Promise<string[]> {
  const { prefixes } = await store.list(MEM_WAL_PREFIX, { delimiter: '/' });
  return prefixes.flatMap((prefix) => SHARD_DIRECTORY.exec(prefix)?.[1] ?? []).sort();
}

/** `_mem_wal/<shard>/<path>/`, the Lance dataset of one generation. */
export function generationPrefix(shardId: string, generation: { readonly path: string }): string {
  return `${MEM_WAL_PREFIX}${shardId}/${generation.path}/`;
}

/**
 * The newest manifest of a shard; undefined when it has none. Starts at LanceDB's hint and tries the next versions,
 * since the hint lags behind; without a usable hint it lists. Throws `SHARD_MANIFEST_UNREADABLE`.
 */
export async function readNewestShardManifest(store: ObjectStore, shardId: string): Promise<ShardManifest | undefined> {
  const hint = await readHint(store, shardId);
  if (hint !== undefined) {
    let newest = await store.get(shardManifestKey(shardId, hint));
    for (let version = hint; newest && version < hint + MAX_PROBES; version++) {
      const next = await store.get(shardManifestKey(shardId, version + 1));
      if (!next) return decodeShardManifest(shardId, shardManifestKey(shardId, version), newest);
      newest = next;
    }
  }
  return readNewestListed(store, shardId);
}

async function readHint(store: ObjectStore, shardId: string): Promise<number | undefined> {
  const bytes = await store.get(`${shardManifestPrefix(shardId)}version_hint.json`);
  // The hint is only a hint: what does not look like one counts as absent.
  const digits = bytes && /^\s*\{\s*"version"\s*:\s*(\d{1,15})\s*\}\s*$/.exec(Buffer.from(bytes).toString())?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Bit-reversed names do not sort by version: all are listed. */
async function readNewestListed(store: ObjectStore, shardId: string): Promise<ShardManifest | undefined> {
  const { objects } = await store.list(shardManifestPrefix(shardId));
  let newest = 0;
  for (const { key } of objects) newest = Math.max(newest, parseShardManifestKey(key) ?? 0);
  if (newest === 0) return undefined;
  for (let version = newest; ; version++) {
    const next = await store.get(shardManifestKey(shardId, version + 1));
    if (next) continue;
    const key = shardManifestKey(shardId, version);
    const bytes = await store.get(key);
    return bytes && decodeShardManifest(shardId, key, bytes);
  }
}

/**
 * Takes generations out of the shard's list, as the last step of a merge: their rows are in the base table, the
 * watermark covers them and their directories are gone. Redone over whatever a live writer puts first.
 * The hint stays as it is: the port cannot overwrite, and every reader goes on from it.
 * Throws `SHARD_CONFLICT` (contention) when writers win every time.
 */
export async function drainShard(
  store: ObjectStore,
  shardId: string,
  generationsToRemove: ReadonlySet<number>,
  options: { readonly beforePut?: () => Promise<void>; readonly signal?: AbortSignal } = {},
): Promise<{ readonly version: number } | 'nothing'> {
  for (let attempt = 0; attempt < DRAIN_ATTEMPTS; attempt++) {
    options.signal?.throwIfAborted();
    const manifest = await readNewestShardManifest(store, shardId);
    if (!manifest?.generations.some(({ generation }) => generationsToRemove.has(generation))) return 'nothing';
    const drained = drainedShardManifest(manifest, generationsToRemove);
    await options.beforePut?.();
    if ((await store.putIfAbsent(drained.key, drained.bytes)) === 'created') return { version: drained.version };
  }
  throw shardConflict(shardId, DRAIN_ATTEMPTS);
}
