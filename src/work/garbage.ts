import { collectableGenerations } from '../lance/collectable.ts';
import type { TableManifest } from '../lance/manifest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { drainShard, type Generation, generationPrefix, readNewestShardManifest } from '../lance/shards.ts';
import type { WorkContext } from './context.ts';

export interface Garbage {
  readonly directories: number;
  /** Entries taken out of shard manifests. */
  readonly entries: number;
  readonly objects: number;
}

/**
 * Removes what no reader needs any more: first the directories of merged generations past their retention, last their
 * entries in the shard manifest. The other way round, a reader with an old base snapshot would lose rows in silence.
 * A directory that a crashed flush or pass left unlisted goes the same way. Safe to repeat from any point.
 * @param head the newest base manifest.
 */
export async function collectGarbage(
  context: WorkContext,
  store: ObjectStore,
  head: TableManifest,
  shardIds: readonly string[],
  cutoff: number,
): Promise<Garbage> {
  const total = { directories: 0, entries: 0, objects: 0 };
  const collectable = await collectableGenerations(store, head, cutoff);
  for (const shardId of shardIds) {
    const limit = collectable.get(shardId);
    const shard = limit === undefined ? undefined : await readNewestShardManifest(store, shardId);
    if (limit === undefined || !shard) continue;
    const entries = shard.generations.filter((generation) => generation.generation <= limit);
    const prefixes = new Set([
      ...entries.map((generation) => generationPrefix(shardId, generation)),
      ...(await unlistedDirectories(store, shardId, shard.generations, limit)),
    ]);
    if (prefixes.size > 0) await context.fence();
    for (const prefix of prefixes) {
      context.signal.throwIfAborted();
      const objects = await deleteBelow(store, prefix);
      total.objects += objects;
      if (objects > 0) total.directories += 1;
    }
    if (entries.length === 0) continue;
    await drainShard(store, shardId, new Set(entries.map((generation) => generation.generation)), {
      beforePut: () => context.fence(),
      signal: context.signal,
    });
    total.entries += entries.length;
  }
  return total;
}

/** Directories at or below `limit` that no entry names: a live writer only ever makes them above the watermark. */
async function unlistedDirectories(
  store: ObjectStore,
  shardId: string,
  listed: readonly Generation[],
  limit: number,
): Promise<string[]> {
  const known = new Set(listed.map((generation) => generationPrefix(shardId, generation)));
  const { prefixes } = await store.list(`_mem_wal/${shardId}/`, { delimiter: '/' });
  return prefixes.filter((prefix) => {
    const generation = Number(/_gen_(\d+)\/$/.exec(prefix)?.[1] ?? Number.NaN);
    return generation <= limit && !known.has(prefix);
  });
}

async function deleteBelow(store: ObjectStore, prefix: string): Promise<number> {
  const { objects } = await store.list(prefix);
  for (const { key } of objects) await store.delete(key);
  return objects.length;
}
