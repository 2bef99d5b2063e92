import { describe, expect, it } from 'vitest';
import { backlogOf } from '../../../src/fleet/backlog.ts';
import type { ShardFacts, TableFacts } from '../../../src/fleet/facts.ts';
import { indexFacts } from '../../fixtures/facts.ts';

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

function store(shards: readonly ShardFacts[] | null): TableFacts {
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
    indexes: [],
    hold: null,
    wal: shards && { shards },
  };
}

function backlog(tables: readonly TableFacts[]) {
  return backlogOf({ tables, holdsLeft: [] }, NOW);
}

describe('the backlog of a sweep', () => {
  it('tells the rows outside of the worst index, since when, and the holds that were left behind', () => {
    const one = { ...store(null), indexes: [indexFacts({ rowsOutside: 7, outsideSince: NOW - 300 })] };
    const two = { ...store(null), indexes: [indexFacts({ rowsOutside: 2, outsideSince: NOW - 900 }), indexFacts()] };
    const holdsLeft = [{ target: one.target, createdAt: 0 }];
    expect(backlogOf({ tables: [one, two], holdsLeft }, NOW)).toMatchObject({
      MostRowsOutsideIndex: 7,
      OldestOutsideIndexMs: 900,
      HoldsLeft: 1,
    });
  });

  it('sees 20 shards of 300 generations each as one table of 6,000', () => {
    const found = backlog([store(Array.from({ length: 20 }, () => shard(300))), store([shard(5)])]);
    expect(found).toMatchObject({ MostPendingOfShard: 300, MostPendingOfTable: 6_000, PendingGenerations: 6_005 });
  });

  it('tells the age of the oldest generation that waits anywhere', () => {
    const tables = [store([shard(1, NOW - 500)]), store([shard(2, NOW - 9_000), shard(0)])];
    expect(backlog(tables).OldestPendingMs).toBe(9_000);
  });

  it('is all zeros for tables without a MemWAL, but for their fragments', () => {
    expect(backlog([store(null), store(null)])).toEqual({
      PendingGenerations: 0,
      PendingBytes: 0,
      OldestPendingMs: 0,
      MostPendingOfShard: 0,
      MostPendingOfTable: 0,
      SmallFragments: 4,
      MostRowsOutsideIndex: 0,
      OldestOutsideIndexMs: 0,
      HoldsLeft: 0,
    });
  });
});
