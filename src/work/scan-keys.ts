import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from './arrow.ts';
import { duplicateKey } from './base-keys.ts';
import { keyReader } from './key-reader.ts';
import { callLancedb } from './lancedb-errors.ts';
import type { Key } from './winners.ts';

/**
 * The same answer as `findBaseKeys` for a table without a key index: one scan of the key column, with memory for the
 * asked keys alone. Throws DUPLICATE_KEYS for an asked key in two rows, NULL_KEYS for any row without a key.
 */
export async function scanBaseKeys(base: Table, keyColumn: string, keys: readonly Key[]): Promise<ReadonlySet<Key>> {
  const asked = new Set(keys);
  const found = new Set<Key>();
  const scan = async () => {
    for await (const batch of base.query().useLsm(false).select([keyColumn])) {
      const keyAt = keyReader(batch as unknown as RecordBatch, keyColumn, 'The base table');
      for (let row = 0; row < batch.numRows; row += 1) {
        const key = keyAt(row);
        if (!asked.has(key)) continue;
        if (found.has(key)) throw duplicateKey(keyColumn, key);
        found.add(key);
      }
    }
  };
  await callLancedb('scanning the key column of the base table', scan);
  return found;
}
