import { setImmediate as turn } from 'node:timers/promises';
import { UpkeepError } from '../../src/errors.ts';
import type { ChangeFeed, Item, Ledger, SequencedRecord } from '../../src/tasks/ports.ts';

export interface Hostility {
  readonly random: () => number;
  /** Share of transactions that fail before they are written. */
  readonly failed: number;
  /** Share of transactions that are written and whose answer is lost. */
  readonly lost: number;
  /** Share of index reads that answer what an earlier read of the same kind did, or leave entries out. */
  readonly stale: number;
  /** Share of records that come twice. */
  readonly doubled: number;
  /** Share of records that come many reads later. */
  readonly late: number;
  /** Share of records that never come. */
  readonly dropped: number;
}

/** A ledger as a bad day on a network shows it. Everything it does is allowed by the ports' contract. */
export function hostileLedger(inner: Ledger, hostility: Hostility): Ledger {
  const { random } = hostility;
  const earlier = new Map<string, readonly Item[]>();
  return {
    get: async (key) => {
      await stagger(random);
      return inner.get(key);
    },
    getMany: async (keys) => {
      await stagger(random);
      return inner.getMany(keys);
    },
    query: (query) => inner.query({ ...query, limit: Math.min(query.limit, 2) }),
    async queryIndex(query) {
      const name = `${query.index} ${query.partition}`;
      const items = await inner.queryIndex(query);
      const before = earlier.get(name) ?? [];
      earlier.set(name, items);
      if (random() >= hostility.stale) return items;
      return random() < 0.5 ? before.slice(0, query.limit) : items.filter(() => random() < 0.5);
    },
    async transact(writes, options) {
      await stagger(random);
      if (random() < hostility.failed) throw lost('before it was written');
      const result = await inner.transact(writes, options);
      // An adapter that repeats a call whose answer it missed sends the same token again.
      const again = result.written && random() < 0.2 ? await inner.transact(writes, options) : result;
      if (random() < hostility.lost) throw lost('after it was written or refused');
      return again;
    },
  };
}

/** The records of the inner feed, shuffled across transactions, doubled, late and dropped. */
export function hostileFeed(inner: ChangeFeed, hostility: Hostility): ChangeFeed {
  const { random } = hostility;
  let held: SequencedRecord[] = [];
  return {
    async read(limit) {
      const { records } = await inner.read(Math.max(1, Math.floor(random() * limit)));
      const last = records.at(-1);
      if (last) await inner.handled(last.sequence);
      const coming = [...held, ...records];
      held = [];
      const now: SequencedRecord[] = [];
      for (const record of coming) {
        if (random() < hostility.dropped) continue;
        if (random() < hostility.late) {
          held.push(record);
          continue;
        }
        now.push(record);
        if (random() < hostility.doubled) now.push(record);
        if (random() < hostility.doubled) held.push(record);
      }
      return { records: shuffled(now, random) };
    },
    handled: async () => {},
  };
}

function shuffled<T>(values: readonly T[], random: () => number): readonly T[] {
  return values
    .map((value) => ({ value, at: random() }))
    .sort((left, right) => left.at - right.at)
    .map(({ value }) => value);
}

async function stagger(random: () => number): Promise<void> {
  for (let turns = Math.floor(random() * 3); turns > 0; turns -= 1) await turn();
}

function lost(when: string): UpkeepError {
  return new UpkeepError(`The connection broke ${when}.`, { code: 'LEDGER_UNAVAILABLE', disposition: 'contention' });
}

/** Random numbers that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
