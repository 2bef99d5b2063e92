/** One flushed generation that is not yet in the base table. `bytes` is what merging it costs in memory, at least. */
export interface PendingGeneration {
  readonly generation: number;
  /** Directory name below the shard. */
  readonly path: string;
  readonly bytes: number;
}

export interface PendingShard {
  readonly shardId: string;
  readonly watermark: number;
  /** Ascending, all above the watermark. */
  readonly pending: readonly PendingGeneration[];
}

export interface ShardSelection {
  readonly shardId: string;
  readonly watermark: number;
  /** Ascending, a prefix of the shard's pending generations: never a gap. */
  readonly generations: readonly PendingGeneration[];
}

export interface MergePlan {
  readonly selections: readonly ShardSelection[];
  /** Pending generations that this pass leaves for the next one. */
  readonly left: number;
  readonly bytes: number;
}

export interface MergeLimits {
  /** Generations of one shard in one pass. */
  readonly maxGenerations: number;
  /** Bytes of one pass over all shards. */
  readonly maxBytes: number;
}

/**
 * Chooses what one pass merges. Each shard gives a prefix of its pending generations, oldest first; the byte budget
 * is shared by the shards in turn, so that none waits behind another one's backlog. The first generation of all is
 * always taken, however large: otherwise it would wait for ever.
 */
export function planMerge(shards: readonly PendingShard[], limits: MergeLimits): MergePlan {
  const taken = new Map<string, PendingGeneration[]>();
  let bytes = 0;
  let count = 0;
  for (let round = 0; round < limits.maxGenerations; round += 1) {
    for (const shard of shards) {
      const next = shard.pending[round];
      const mine = taken.get(shard.shardId) ?? [];
      if (next === undefined || mine.length < round) continue;
      if (count > 0 && bytes + next.bytes > limits.maxBytes) continue;
      mine.push(next);
      taken.set(shard.shardId, mine);
      bytes += next.bytes;
      count += 1;
    }
  }
  const total = shards.reduce((sum, shard) => sum + shard.pending.length, 0);
  const selections = shards.flatMap((shard) => {
    const generations = taken.get(shard.shardId);
    return generations ? [{ shardId: shard.shardId, watermark: shard.watermark, generations }] : [];
  });
  return { selections, left: total - count, bytes };
}
