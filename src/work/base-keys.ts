import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from './arrow.ts';
import { WorkError } from './errors.ts';
import { keyReader, printableKey } from './key-reader.ts';
import { callLancedb } from './lancedb-errors.ts';
import { keyPredicates, sqlName } from './sql.ts';
import type { Key } from './winners.ts';

/** Keys in one predicate: large enough to amortize a query, small enough to plan quickly. */
const KEYS_PER_QUERY = 2000;

/**
 * Which of `keys` the base table holds, read through the key index: only the key column of the rows found.
 * Throws DUPLICATE_KEYS when one stands in two rows: an upsert of it would leave both.
 */
export async function findBaseKeys(base: Table, keyColumn: string, keys: readonly Key[]): Promise<ReadonlySet<Key>> {
  const seen = new Set<Key>();
  const read = async (predicate: string) => {
    for await (const batch of base.query().useLsm(false).where(predicate).select([keyColumn])) {
      const keyAt = keyReader(batch as unknown as RecordBatch, keyColumn, 'The base table');
      for (let row = 0; row < batch.numRows; row += 1) {
        const key = keyAt(row);
        if (seen.has(key)) throw duplicateKey(keyColumn, key);
        seen.add(key);
      }
    }
  };
  for (const predicate of keyPredicates(keyColumn, keys, KEYS_PER_QUERY)) {
    await callLancedb('looking up keys in the base table', () => read(predicate));
  }
  return seen;
}

/** How many rows of the base table have one of `keys`; the index alone answers, no row is read. */
export async function countBaseRows(base: Table, keyColumn: string, keys: readonly Key[]): Promise<number> {
  let count = 0;
  for (const predicate of keyPredicates(keyColumn, keys, KEYS_PER_QUERY)) {
    count += await callLancedb('counting keys in the base table', () => base.countRows(predicate));
  }
  return count;
}

export function duplicateKey(keyColumn: string, key: Key): WorkError {
  return new WorkError(
    'DUPLICATE_KEYS',
    `The base table has more than one row with ${keyColumn} = ${printableKey(key)}.`,
    {
      disposition: 'permanent',
      next: 'Delete the rows that should not be there; which of them is right, only you can tell. Then send MergeWal again.',
    },
  );
}

/** Throws NULL_KEYS when the base table has rows without a key. */
export async function assertKeysNotNull(base: Table, keyColumn: string): Promise<void> {
  const query = base
    .query()
    .useLsm(false)
    .where(`${sqlName(keyColumn)} IS NULL`);
  const nulls = await callLancedb('looking for rows without a key', () => query.select([keyColumn]).limit(1).toArray());
  if (nulls.length === 0) return;
  throw new WorkError('NULL_KEYS', `The base table has rows without a key (column "${keyColumn}").`, {
    disposition: 'permanent',
    next: `Give them a key or delete them: ${sqlName(keyColumn)} IS NULL finds them. Then send MergeWal again.`,
  });
}
