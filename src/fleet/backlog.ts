import type { SweepReport } from './sweep.ts';

/** The stage under which every sweep reports what waits. */
export const BACKLOG_STAGE = 'backlog';

/** What waits to be merged, as numbers to alarm on: the worst of all tables, since one table is enough to hurt somebody. */
export interface Backlog extends Readonly<Record<string, number>> {
  readonly PendingGenerations: number;
  readonly PendingBytes: number;
  /** Age of the oldest generation that is not in its base table. */
  readonly OldestPendingMs: number;
  readonly MostPendingOfShard: number;
  readonly MostPendingOfTable: number;
  readonly SmallFragments: number;
  /** Rows outside of the index that lacks the most of them. */
  readonly MostRowsOutsideIndex: number;
  /** For how long rows have been outside of an index. */
  readonly OldestOutsideIndexMs: number;
  /** Holds that no running task can have placed. */
  readonly HoldsLeft: number;
}

/** @example backlogOf(report, clock.now()).MostPendingOfTable // 6000: 20 shards of 300 generations each */
export function backlogOf({ tables, holdsLeft }: Pick<SweepReport, 'tables' | 'holdsLeft'>, now: number): Backlog {
  const sums = { PendingGenerations: 0, PendingBytes: 0, SmallFragments: 0 };
  const worst = {
    OldestPendingMs: 0,
    MostPendingOfShard: 0,
    MostPendingOfTable: 0,
    MostRowsOutsideIndex: 0,
    OldestOutsideIndexMs: 0,
  };
  for (const { wal, compactableFragments, indexes } of tables) {
    for (const { rowsOutside, outsideSince } of indexes) {
      worst.MostRowsOutsideIndex = Math.max(worst.MostRowsOutsideIndex, rowsOutside);
      if (outsideSince !== null) worst.OldestOutsideIndexMs = Math.max(worst.OldestOutsideIndexMs, now - outsideSince);
    }
    let ofTable = 0;
    for (const { pendingGenerations, pendingBytes, oldestPending } of wal?.shards ?? []) {
      ofTable += pendingGenerations;
      sums.PendingBytes += pendingBytes;
      worst.MostPendingOfShard = Math.max(worst.MostPendingOfShard, pendingGenerations);
      if (oldestPending !== null) worst.OldestPendingMs = Math.max(worst.OldestPendingMs, now - oldestPending);
    }
    sums.PendingGenerations += ofTable;
    sums.SmallFragments += compactableFragments;
    worst.MostPendingOfTable = Math.max(worst.MostPendingOfTable, ofTable);
  }
  return { ...sums, ...worst, HoldsLeft: holdsLeft.length };
}
