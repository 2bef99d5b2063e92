import type { Settings } from '../config.ts';
import type { UpkeepError } from '../errors.ts';
import { collectableGenerations } from '../lance/collectable.ts';
import { generationMissing } from '../lance/errors.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { type Generation, generationPrefix, listShards, readNewestShardManifest } from '../lance/shards.ts';
import type { ShardFacts } from './facts.ts';
import { inParallel } from './in-parallel.ts';
import { nestedTable } from './nested-table.ts';
import { permanentErrorIn } from './permanent-error.ts';

export interface WalFacts {
  readonly shards: readonly ShardFacts[];
  /** The first thing that is damaged for good. */
  readonly error?: UpkeepError;
}

interface ShardOutcome {
  readonly facts?: ShardFacts;
  /** The oldest generation at or below the watermark that is still listed. */
  readonly lowestMerged?: number;
  readonly error?: UpkeepError;
}

const shardsAtATime = 4;
const generationsAtATime = 8;

/**
 * Counts what waits in every shard of a table. Null when the table has no MemWAL.
 * A shard that is damaged keeps its previous facts and does not hide the others.
 */
export async function observeWal(
  store: ObjectStore,
  manifest: TableManifest,
  settings: Pick<Settings, 'generationRetentionMs'>,
  now: number,
  previous: { readonly shards: readonly ShardFacts[] } | null,
): Promise<WalFacts | null> {
  const memWal = manifest.memWal;
  if (memWal === undefined) return null;
  const shardIds = await listShards(store);
  const outcomes = await inParallel(shardIds, shardsAtATime, async (shardId): Promise<ShardOutcome> => {
    try {
      return await observeShard(store, shardId, memWal.compacted.get(shardId) ?? 0);
    } catch (error) {
      const typed = permanentErrorIn(error);
      if (typed === undefined) throw error;
      const known = previous?.shards.find((shard) => shard.shardId === shardId);
      return { ...(known === undefined ? {} : { facts: known }), error: typed };
    }
  });
  const error = outcomes.find((outcome) => outcome.error !== undefined)?.error;
  const shards = await withGarbage(store, manifest, outcomes, now - settings.generationRetentionMs);
  return { shards, ...(error === undefined ? {} : { error }) };
}

async function observeShard(store: ObjectStore, shardId: string, watermark: number): Promise<ShardOutcome> {
  const shard = await readNewestShardManifest(store, shardId);
  const listed = shard?.generations ?? [];
  const pending = listed.filter((generation) => generation.generation > watermark);
  const present = pending.length === 0 ? new Set<string>() : await directoriesOf(store, shardId);
  const flushed = await flushedAt(store, shardId, pending[0]);
  // A directory whose content is gone may still be there: on the oldest, which merges first, that is seen for free.
  const isGone = (generation: Generation, index: number) =>
    !present.has(generationPrefix(shardId, generation)) || (index === 0 && flushed === null);
  const missing = pending.find(isGone);
  const blocked = missing === undefined ? 0 : pending.length - pending.indexOf(missing);
  const measured = await inParallel(pending, generationsAtATime, (generation) =>
    measure(store, shardId, generation, present),
  );
  const facts: ShardFacts = {
    shardId,
    watermark,
    pendingGenerations: pending.length,
    pendingRows: measured.reduce((sum, { rows }) => sum + rows, 0),
    pendingBytes: measured.reduce((sum, { bytes }) => sum + bytes, 0),
    oldestPending: flushed,
    mergedGenerations: listed.length - pending.length,
    // Most shards have nothing to collect; withGarbage() reads what the others need, once for all.
    garbageDue: false,
    missingGeneration: missing?.generation ?? null,
    blockedGenerations: blocked,
  };
  const merged = listed.find((generation) => generation.generation <= watermark);
  const lowestMerged = merged === undefined ? {} : { lowestMerged: merged.generation };
  if (missing === undefined) return { facts, ...lowestMerged };
  return {
    facts,
    ...lowestMerged,
    error: generationMissing(shardId, missing.generation, generationPrefix(shardId, missing)),
  };
}

/** One listing for the whole shard, so that a missing directory is seen without a request for each generation. */
async function directoriesOf(store: ObjectStore, shardId: string): Promise<Set<string>> {
  const listing = await store.list(`_mem_wal/${shardId}/`, { delimiter: '/' });
  return new Set(listing.prefixes);
}

/** The writer counts rows and bytes in the shard manifest; where it did not, the generation's own manifest knows. */
async function measure(
  store: ObjectStore,
  shardId: string,
  generation: Generation,
  present: ReadonlySet<string>,
): Promise<{ rows: number; bytes: number }> {
  const { physicalRows, inMemoryBytes } = generation;
  if (physicalRows !== undefined && inMemoryBytes !== undefined) return { rows: physicalRows, bytes: inMemoryBytes };
  const prefix = generationPrefix(shardId, generation);
  const manifest = present.has(prefix) ? await readNewestManifest(nestedTable(store, prefix)) : undefined;
  return {
    rows: physicalRows ?? manifest?.physicalRows ?? 0,
    bytes: inMemoryBytes ?? manifest?.dataBytes ?? 0,
  };
}

async function flushedAt(store: ObjectStore, shardId: string, oldest: Generation | undefined): Promise<number | null> {
  if (oldest === undefined) return null;
  const listing = await store.list(`${generationPrefix(shardId, oldest)}_versions/`, { maxKeys: 1 });
  return listing.objects[0]?.modified ?? null;
}

async function withGarbage(
  store: ObjectStore,
  manifest: TableManifest,
  outcomes: readonly ShardOutcome[],
  cutoff: number,
): Promise<readonly ShardFacts[]> {
  const anyMerged = outcomes.some((outcome) => outcome.lowestMerged !== undefined);
  const collectable = anyMerged ? await collectableGenerations(store, manifest, cutoff) : new Map<string, number>();
  return outcomes.flatMap(({ facts, lowestMerged }) => {
    if (facts === undefined || lowestMerged === undefined) return facts ?? [];
    return { ...facts, garbageDue: lowestMerged <= (collectable.get(facts.shardId) ?? 0) };
  });
}
