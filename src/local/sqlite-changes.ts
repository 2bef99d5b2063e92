import type { DatabaseSync } from 'node:sqlite';
import type { ChangeFeed, Item, SequencedRecord } from '../tasks/ports.ts';
import { decodeItem } from './item-encoding.ts';
import { inTransaction, unavailable } from './sqlite-database.ts';

const EXPIRY_PERIOD_MS = 60_000;
const EXPIRY_BATCH = 500;

/**
 * The change feed of the SQLite ledger. A record stays until `handled` names it, so a process that dies while it
 * handles one loses nothing. Two processes may handle the same record. Reading also removes expired items.
 */
export function createChangeFeed(options: {
  readonly database: DatabaseSync;
  readonly random: () => number;
  readonly now: () => number;
  readonly remove: (item: Item) => void;
}): ChangeFeed {
  const { database } = options;
  const first = database.prepare(
    'SELECT sequence, pk, sk, expired, before, after FROM changes ORDER BY sequence LIMIT ?',
  );
  const forget = database.prepare('DELETE FROM changes WHERE sequence <= ?');
  const over = database.prepare('SELECT pk, sk, body FROM items WHERE remove_after <= ? LIMIT ?');
  let lastExpiry = Number.NEGATIVE_INFINITY;

  async function removeExpired(): Promise<void> {
    const now = options.now();
    if (Math.abs(now - lastExpiry) < EXPIRY_PERIOD_MS) return;
    lastExpiry = now;
    const seconds = Math.floor(now / 1000);
    if (over.all(seconds, 1).length === 0) return;
    await inTransaction(database, options.random, () => {
      for (const row of over.all(seconds, EXPIRY_BATCH)) {
        options.remove(decodeItem({ pk: String(row.pk), sk: String(row.sk) }, String(row.body)));
      }
    });
  }

  return {
    async read(limit) {
      await removeExpired();
      try {
        return { records: first.all(limit).map(recordOf) };
      } catch (error) {
        throw unavailable(error);
      }
    },
    async handled(sequence) {
      await inTransaction(database, options.random, () => forget.run(sequence));
    },
  };
}

function recordOf(row: Record<string, unknown>): SequencedRecord {
  const key = { pk: String(row.pk), sk: String(row.sk) };
  const before = row.before === null ? undefined : decodeItem(key, String(row.before));
  const after = row.after === null ? undefined : decodeItem(key, String(row.after));
  return {
    sequence: Number(row.sequence),
    key,
    change: before === undefined ? 'insert' : after === undefined ? 'remove' : 'modify',
    expired: row.expired === 1,
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
}
