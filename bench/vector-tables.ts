import { link, mkdir, readdir } from 'node:fs/promises';
import { connect, Index, type Table } from '@lancedb/lancedb';
import { arrow } from '../src/work/arrow.ts';

const DIMENSIONS = 768;
const WORDS_A_ROW = 15;
const LETTERS_A_WORD = 7;
const VOCABULARY = 5_000;
const KEY_BYTES = 16;
const ROWS_A_PARTITION = 4_096;

const vectorType = new arrow.FixedSizeList(DIMENSIONS, new arrow.Field('item', new arrow.Float32(), true));
const vectorSchema = new arrow.Schema([
  new arrow.Field('id', new arrow.Utf8(), false),
  new arrow.Field('text', new arrow.Utf8(), true),
  new arrow.Field('vector', vectorType, true),
]);

/** A fragment of about 74 MiB: small to a compaction at default settings. */
export const ROWS_A_FRAGMENT = 24_000;

/** Rows with 768 floats and 15 words each, noise that is the same each time. */
export function vectorRows(from: number, rows: number) {
  let state = (Math.imul(from + 1, 0x9e3779b1) >>> 0) + 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  const floats = new Float32Array(rows * DIMENSIONS);
  for (let at = 0; at < floats.length; at += 1) floats[at] = next() / 2 ** 23 - 1;
  const keys = Array.from({ length: rows }, (_, row) => String(from + row).padStart(KEY_BYTES, '0')).join('');
  const words = Array.from({ length: rows * WORDS_A_ROW }, () => wordOf(next() % VOCABULARY)).join('');
  const utf8 = (text: string, width: number) => {
    const valueOffsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * width);
    return arrow.makeData({
      type: new arrow.Utf8(),
      length: rows,
      nullCount: 0,
      valueOffsets,
      data: Buffer.from(text),
    });
  };
  const child = arrow.makeData({ type: new arrow.Float32(), length: floats.length, nullCount: 0, data: floats });
  const vectors = arrow.makeData({ type: vectorType, length: rows, nullCount: 0, child });
  const children = [utf8(keys, KEY_BYTES), utf8(words, WORDS_A_ROW * (LETTERS_A_WORD + 1)), vectors];
  const type = new arrow.Struct(vectorSchema.fields);
  const batch = new arrow.RecordBatch(vectorSchema, arrow.makeData({ type, length: rows, nullCount: 0, children }));
  return new arrow.Table(vectorSchema, [batch]) as never;
}

/** Letters for a number, then a blank. */
function wordOf(number: number): string {
  let left = Math.imul(number + 1, 0x85ebca6b) >>> 0;
  let word = '';
  for (let deadLetter = 0; deadLetter < LETTERS_A_WORD; deadLetter += 1) {
    word += String.fromCharCode(97 + (left % 26));
    left = Math.floor(left / 26) + number;
  }
  return `${word} `;
}

/** A table of that many fragments with a BTree, a full-text index and an IVF_PQ over every row. */
export async function createVectorTable(database: string, name: string, fragments: number): Promise<void> {
  const table = await (await connect(database)).createEmptyTable(name, vectorSchema as never);
  for (let fragment = 0; fragment < fragments; fragment += 1) {
    await table.add(vectorRows(fragment * ROWS_A_FRAGMENT, ROWS_A_FRAGMENT));
  }
  await table.createIndex('id', { config: Index.btree() });
  await table.createIndex('text', { config: Index.fts() });
  // As many partitions as LanceDB likes to keep: above, it splits them while it extends the index. Little training.
  const numPartitions = Math.ceil((fragments * ROWS_A_FRAGMENT) / ROWS_A_PARTITION);
  const config = Index.ivfPq({ numPartitions, numSubVectors: 96, maxIterations: 5, sampleRate: 64 });
  await table.createIndex('vector', { config });
  table.close();
}

/** Appends what no index covers. */
export async function appendFragments(table: Table, from: number, fragments: number, rowsEach: number): Promise<void> {
  for (let at = 0; at < fragments; at += 1) await table.add(vectorRows(from + at * rowsEach, rowsEach));
}

/** The same table once more without its bytes: files of a table are never changed, so both may share them. */
export async function linkTable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (entry.isDirectory()) await linkTable(`${from}/${entry.name}`, `${to}/${entry.name}`);
    else await link(`${from}/${entry.name}`, `${to}/${entry.name}`);
  }
}
