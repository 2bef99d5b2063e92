import { arrow, type Data, type DataType, type RecordBatch } from './arrow.ts';
import { WorkError } from './errors.ts';
import { sqlName } from './sql.ts';
import type { Key } from './winners.ts';

/** Keeps a leading U+FEFF, which Arrow's own decoder strips: two keys that differ only by it are two keys. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the key of a row as a value that is `===` for keys of equal bytes, and only for those; throws for a null and
 * for types that cannot be one.
 */
export function keyReader(batch: RecordBatch, keyColumn: string, where: string): (row: number) => Key {
  const index = batch.schema.fields.findIndex((field) => field.name === keyColumn);
  const data = batch.data.children[index];
  const read = data && valueReader(data);
  if (!data || !read) {
    const type = (data?.type as DataType | undefined) ?? 'absent';
    throw new WorkError('KEY_TYPE_UNSUPPORTED', `${where}: the key column "${keyColumn}" is ${type}.`, {
      disposition: 'permanent',
      next: 'Use a string or integer column as the key.',
    });
  }
  return (row) => {
    if (data.getValid(row)) return read(row);
    throw new WorkError('NULL_KEYS', `${where} has a row without a key (column "${keyColumn}").`, {
      disposition: 'permanent',
      next: `Find it with ${sqlName(keyColumn)} IS NULL and give it a key; a row without one cannot be merged.`,
    });
  };
}

function valueReader(data: Data): ((row: number) => Key) | undefined {
  const { DataType: is } = arrow;
  if (is.isUtf8(data.type) || is.isLargeUtf8(data.type)) {
    const offsets = data.valueOffsets as unknown as ArrayLike<number | bigint>;
    const bytes = data.values as Uint8Array;
    return (row) => decoder.decode(bytes.subarray(Number(offsets[row]), Number(offsets[row + 1])));
  }
  if (is.isInt(data.type)) return (row) => (data.values as ArrayLike<number | bigint>)[row] as Key;
  return undefined;
}

/** A key for a message: what cannot be seen is written as its code. */
export function printableKey(key: Key): string {
  return JSON.stringify(String(key)).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
