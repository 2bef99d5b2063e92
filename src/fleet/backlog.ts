import type { StoreFacts } from './facts.ts';

/** The stage under which every sweep reports what waits. */
export const BACKLOG_STAGE = 'backlog';

/** What waits to be merged, as numbers to alarm on: the worst of all stores, since one store is enough to hurt somebody. */
export interface Backlog extends Readonly<Record<string, number>> {
  readonly PendingGenerations: number;
  readonly PendingBytes: number;
  /** Age of the oldest generation that is not in its base table. */
  readonly OldestPendingMs: number;
  readonly MostPendingOfShard: number;
  readonly MostPendingOfStore: number;
  readonly SmallFragments: number;
}

/** @example backlogOf(report.stores, clock.now()).MostPendingOfStore // 6000: 20 shards of 300 generations each */
export function backlogOf(stores: readonly StoreFacts[], now: number): Backlog {
  const sums = { PendingGenerations: 0, PendingBytes: 0, SmallFragments: 0 };
  const worst = { OldestPendingMs: 0, MostPendingOfShard: 0, MostPendingOfStore: 0 };
  for (const { wal, compactableFragments } of stores) {
    let ofStore = 0;
    for (const { pendingGenerations, pendingBytes, oldestPending } of wal?.shards ?? []) {
      ofStore += pendingGenerations;
      sums.PendingBytes += pendingBytes;
      worst.MostPendingOfShard = Math.max(worst.MostPendingOfShard, pendingGenerations);
      if (oldestPending !== null) worst.OldestPendingMs = Math.max(worst.OldestPendingMs, now - oldestPending);
    }
    sums.PendingGenerations += ofStore;
    sums.SmallFragments += compactableFragments;
    worst.MostPendingOfStore = Math.max(worst.MostPendingOfStore, ofStore);
  }
  return { ...sums, ...worst };
}
