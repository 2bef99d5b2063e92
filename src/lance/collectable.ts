import { isHold } from './hold.ts';
import type { TableManifest } from './manifest.ts';
import { listManifests, readManifestAt } from './newest.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * Kinds whose readers do not need a merged generation: without catch-up they only scan its rows in the base table.
 * Every other kind (vector, full text, one not known yet) reads generations until its catch-up has passed them.
 */
const scalarKinds = new Set(['BTree', 'Bitmap', 'LabelList', 'ZoneMap', 'BloomFilter']);
/** The table's own bookkeeping; no query goes through these. */
const systemKinds = new Set(['MemWal', 'FragmentReuse']);

/**
 * Per shard, the highest generation that no reader can need who took its version of the table after `cutoff` (epoch milliseconds): it was
 * merged, in the base table and in every index that reads generations, in the version that was the newest at that time, and is in the
 * newest of now.
 *
 *     versions:  ... 11 (watermark 4) ... | cutoff | ... 12 (watermark 9) ... 13 = newest
 *     collectable: generations up to 4; 5 to 9 stay until version 12 is older than the retention
 *
 * Versions are dated by their objects, not by their writers' clocks. Costs a listing and at most one small read.
 * A shard that is absent from the answer has nothing to collect.
 */
export async function collectableGenerations(
  store: ObjectStore,
  newest: TableManifest,
  cutoff: number,
): Promise<ReadonlyMap<string, number>> {
  const now = mergedEverywhere(newest);
  if (now.size === 0) return now;
  const then = mergedEverywhere(await newestAt(store, newest, cutoff));
  const answer = new Map<string, number>();
  for (const [shardId, generation] of now) {
    const limit = Math.min(generation, then.get(shardId) ?? 0);
    if (limit > 0) answer.set(shardId, limit);
  }
  return answer;
}

/** The version that was the newest at `cutoff`, as far as it still exists; pruned ones are answered by an older one, which says less. */
async function newestAt(store: ObjectStore, newest: TableManifest, cutoff: number): Promise<TableManifest | undefined> {
  for await (const listed of listManifests(store)) {
    if (listed.version > newest.version || listed.modified > cutoff) continue;
    if (listed.version === newest.version) return newest;
    const manifest = await readManifestAt(store, listed.version);
    if (manifest !== undefined) return manifest;
  }
  return undefined;
}

/** True for a kind of index whose readers take merged generations from the MemWAL until the index has caught up. */
export function readsGenerations(kind: string): boolean {
  return !scalarKinds.has(kind) && !systemKinds.has(kind);
}

/** Per shard, the highest generation merged into the base table and into every index that reads generations. */
function mergedEverywhere(manifest: TableManifest | undefined): Map<string, number> {
  const answer = new Map<string, number>();
  const memWal = manifest?.memWal;
  if (manifest === undefined || memWal === undefined) return answer;
  const reading = manifest.indexes.filter((index) => readsGenerations(index.kind) && !isHold(index));
  for (const [shardId, watermark] of memWal.compacted) {
    const caughtUp = reading.map((index) => memWal.catchUp.get(index.name)?.get(shardId) ?? 0);
    const limit = Math.min(watermark, ...caughtUp);
    if (limit > 0) answer.set(shardId, limit);
  }
  return answer;
}
