import { UpkeepError } from '../errors.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import { type Generation, generationPrefix, listShards, readNewestShardManifest } from '../lance/shards.ts';
import type { PartOutcome } from '../tasks/part-outcomes.ts';
import type { WorkDependencies } from './context.ts';
import type { PendingGeneration, PendingShard } from './merge-plan.ts';

export interface FailedShard {
  readonly shardId: string;
  readonly error: UpkeepError;
}

export interface ShardView extends PendingShard {
  /** Still listed though at or below the watermark: garbage once its retention is over. */
  readonly merged: readonly Generation[];
}

export interface PendingWork {
  readonly shards: readonly ShardView[];
  readonly failed: readonly FailedShard[];
}

/**
 * Reads every shard's newest manifest and sets the generations against the watermark of `manifest`. A shard whose
 * manifest is damaged is reported, not thrown: the others still merge.
 * @param sized how many pending generations per shard need their bytes; the rest count as 0.
 */
export async function readPending(
  dependencies: WorkDependencies,
  manifest: TableManifest,
  target: string,
  sized: number,
): Promise<PendingWork> {
  const store = dependencies.storageFor(target);
  const shards: ShardView[] = [];
  const failed: FailedShard[] = [];
  for (const shardId of await listShards(store)) {
    try {
      const shard = await readNewestShardManifest(store, shardId);
      if (!shard) continue;
      const watermark = manifest.memWal?.compacted.get(shardId) ?? 0;
      const above = shard.generations.filter((generation) => generation.generation > watermark);
      const pending: PendingGeneration[] = [];
      for (const [index, generation] of above.entries()) {
        const bytes = index < sized ? await generationBytes(dependencies, target, shardId, generation) : 0;
        pending.push({ generation: generation.generation, path: generation.path, bytes });
      }
      const merged = shard.generations.filter((generation) => generation.generation <= watermark);
      shards.push({ shardId, watermark, pending, merged });
    } catch (error) {
      if (!(error instanceof UpkeepError) || error.disposition === 'contention') throw error;
      failed.push({ shardId, error });
    }
  }
  return { shards, failed };
}

/** What the writer counted in memory where it said so, else what the files hold. */
async function generationBytes(
  dependencies: WorkDependencies,
  target: string,
  shardId: string,
  generation: Generation,
): Promise<number> {
  if (generation.inMemoryBytes !== undefined) return generation.inMemoryBytes;
  const manifest = await readNewestManifest(
    dependencies.storageFor(`${target}/${trimSlash(generationPrefix(shardId, generation))}`),
  );
  return manifest?.dataBytes ?? 0;
}

export function trimSlash(prefix: string): string {
  return prefix.replace(/\/+$/, '');
}

/** The failed shards as parts of an attempt, for judging it. */
export function shardOutcomes(failed: readonly FailedShard[]): PartOutcome[] {
  return failed.map(({ shardId, error }) => ({ name: `shard ${shardId}`, error }));
}
