import { describe, expect, it } from 'vitest';
import { backlogOf } from '../../../src/fleet/backlog.ts';
import type { ShardFacts, StoreFacts } from '../../../src/fleet/facts.ts';

const NOW = 1_000_000;

function shard(pendingGenerations: number, oldestPending: number | null = null): ShardFacts {
  return {
    shardId: 'shard',
    watermark: 0,
    pendingGenerations,
    pendingRows: 0,
    pendingBytes: pendingGenerations * 10,
    oldestPending,
    mergedGenerations: 0,
    garbageDue: false,
    missingGeneration: null,
    blockedGenerations: 0,
  };
}

function store(shards: readonly ShardFacts[] | null): StoreFacts {
  return {
    target: 's3://bucket/x.lance',
    observedAt: NOW,
    version: 1,
    versionTimestamp: 0,
    rows: 0,
    physicalRows: 0,
    deletedRows: 0,
    fragments: 3,
    smallFragments: 3,
    compactableFragments: 2,
    tooLargeFragments: 0,
    bytes: 0,
    keyColumn: null,
    keyIndex: null,
    wal: shards && { shards },
  };
}

describe('the backlog of a sweep', () => {
  it('sees 20 shards of 300 generations each as one store of 6,000', () => {
    const backlog = backlogOf([store(Array.from({ length: 20 }, () => shard(300))), store([shard(5)])], NOW);
    expect(backlog).toMatchObject({ MostPendingOfShard: 300, MostPendingOfStore: 6_000, PendingGenerations: 6_005 });
  });

  it('tells the age of the oldest generation that waits anywhere', () => {
    const stores = [store([shard(1, NOW - 500)]), store([shard(2, NOW - 9_000), shard(0)])];
    expect(backlogOf(stores, NOW).OldestPendingMs).toBe(9_000);
  });

  it('is all zeros for stores without a MemWAL, but for their fragments', () => {
    expect(backlogOf([store(null), store(null)], NOW)).toEqual({
      PendingGenerations: 0,
      PendingBytes: 0,
      OldestPendingMs: 0,
      MostPendingOfShard: 0,
      MostPendingOfStore: 0,
      SmallFragments: 4,
    });
  });
});
