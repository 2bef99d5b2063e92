import { connect, Index, type Table } from '@lancedb/lancedb';
import { arrow } from '../src/work/arrow.ts';

const KEY_BYTES = 16;
const PAYLOAD_BYTES = 200;
const BATCH_ROWS = 250_000;

export const benchSchema = new arrow.Schema([
  new arrow.Field('id', new arrow.Utf8(), false),
  new arrow.Field('payload', new arrow.Utf8(), true),
]);

/** `scattered`: neighbours in time are strangers in the index, its worst case. `rising`: keys follow time, as ids with a date do. */
export type KeyOrder = 'scattered' | 'rising';

/** The 16-character key of row `n`. */
export function keyOf(n: number, order: KeyOrder): string {
  if (order === 'rising') return String(n).padStart(KEY_BYTES, '0');
  return BigInt.asUintN(64, BigInt(n + 1) * 0x9e3779b97f4a7c15n)
    .toString(16)
    .padStart(KEY_BYTES, '0');
}

/** Rows with these numbers; the payload is noise of 200 dead letters. */
export function benchRows(numbers: readonly number[], salt: number, order: KeyOrder = 'scattered') {
  const rows = numbers.length;
  const keys = new Uint8Array(rows * KEY_BYTES);
  const payloads = new Uint8Array(rows * PAYLOAD_BYTES);
  let state = salt + 1;
  for (let row = 0; row < rows; row += 1) {
    const key = keyOf(numbers[row] ?? 0, order);
    for (let at = 0; at < KEY_BYTES; at += 1) keys[row * KEY_BYTES + at] = key.charCodeAt(at);
  }
  for (let at = 0; at < payloads.length; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    payloads[at] = 97 + ((state >>> 24) % 26);
  }
  const utf8 = (data: Uint8Array, width: number) => {
    const valueOffsets = Int32Array.from({ length: rows + 1 }, (_, index) => index * width);
    return arrow.makeData({ type: new arrow.Utf8(), length: rows, nullCount: 0, valueOffsets, data });
  };
  const type = new arrow.Struct(benchSchema.fields);
  const children = [utf8(keys, KEY_BYTES), utf8(payloads, PAYLOAD_BYTES)];
  const batch = new arrow.RecordBatch(benchSchema, arrow.makeData({ type, length: rows, nullCount: 0, children }));
  return new arrow.Table(benchSchema, [batch]) as never;
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** A table of `rows` rows with the BTree on its key and the MemWAL set up. */
export async function createBenchTable(
  database: string,
  name: string,
  rows: number,
  order: KeyOrder = 'scattered',
): Promise<Table> {
  const table = await (await connect(database)).createEmptyTable(name, benchSchema as never);
  for (let start = 0; start < rows; start += BATCH_ROWS) {
    await table.add(benchRows(range(start, Math.min(rows, start + BATCH_ROWS)), start, order));
  }
  await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await table.setUnenforcedPrimaryKey('id');
  await table.setLsmWriteSpec({ specType: 'unsharded' });
  return table;
}

/** 250 updates and 250 new rows. Scattered updates go all over the table, rising ones among its newest 20,000 rows. */
export function rowsOfRound(order: KeyOrder, rows: number, round: number): number[] {
  const from = order === 'scattered' ? 0 : rows - 20_000;
  const updates = range(0, 250).map((index) => {
    const share = ((index * 7919 + round * 104_729) % 1_000_003) / 1_000_003;
    return from + Math.floor(share * (rows - from));
  });
  return [...new Set(updates), ...range(rows + round * 1000, rows + round * 1000 + 250)];
}

export async function flushRows(
  table: Table,
  numbers: readonly number[],
  salt: number,
  order: KeyOrder = 'scattered',
): Promise<void> {
  const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll();
  await merge.execute(benchRows(numbers, salt, order));
  await table.closeLsmWriters();
}
