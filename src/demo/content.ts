import { createHash } from 'node:crypto';
import { Binary, Field, FixedSizeList, Float32, Int64, Schema, Utf8 } from 'apache-arrow';

/** One row of a demo table. `value` changes with each revision of the row, so that a stale row is told from a fresh one. */
export interface DemoRow {
  readonly id: string | bigint;
  readonly value: bigint;
  readonly note?: string;
  readonly pixels?: Buffer;
  readonly vector?: Iterable<number>;
}

/** What a table must read as, whatever was done to its files. */
export interface ExpectedRows {
  readonly rows: number;
  /** SHA-256 over the rows in order of their ids, every column, hexadecimal. */
  readonly checksum: string;
}

const WORDS = ['amber', 'birch', 'coral', 'delta', 'ember', 'fjord', 'grove', 'heath', 'inlet', 'jetty'];

/** A repeatable stream of numbers in [0, 1): the same seed gives the same stream on every machine. */
export function seededNumbers(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The row of this id at this revision: a name, a number and a short text that depend on nothing else. */
export function demoRow(table: string, id: string | bigint, revision: number): DemoRow {
  const next = seededNumbers(`${table}/${id}/${revision}`);
  const note = Array.from({ length: 6 }, () => WORDS[Math.floor(next() * WORDS.length)]).join(' ');
  return { id, value: BigInt(Math.floor(next() * 1_000_000_000)), note: `revision ${revision}: ${note}` };
}

/** A row of 50 to 100 KB that does not compress. */
export function wideRow(table: string, id: string): DemoRow {
  const next = seededNumbers(`${table}/${id}`);
  const pixels = Buffer.alloc(50_000 + Math.floor(next() * 50_000));
  for (let at = 0; at + 4 <= pixels.length; at += 4) pixels.writeUInt32LE(Math.floor(next() * 4_294_967_296), at);
  return { id, value: BigInt(pixels.length), pixels };
}

const DIMENSIONS = 16;

export type SearchedRow = DemoRow & { readonly vector: readonly number[] };

/** A row that people search: beside its note a vector that stands for it. */
export function searchedRow(table: string, id: string): SearchedRow {
  const next = seededNumbers(`${table}/${id}/vector`);
  const vector = Array.from({ length: DIMENSIONS }, () => Math.fround(next() * 2 - 1));
  return { ...demoRow(table, id, 0), vector };
}

export function searchedSchema(): Schema {
  const vector = new FixedSizeList(DIMENSIONS, new Field('item', new Float32(), true));
  return new Schema([...textSchema('text').fields, new Field('vector', vector, true)]);
}

export function textSchema(key: 'text' | 'number'): Schema {
  return new Schema([
    new Field('id', key === 'text' ? new Utf8() : new Int64(), false),
    new Field('value', new Int64(), true),
    new Field('note', new Utf8(), true),
  ]);
}

export function wideSchema(): Schema {
  return new Schema([
    new Field('id', new Utf8(), false),
    new Field('value', new Int64(), true),
    new Field('pixels', new Binary(), true),
  ]);
}

/** Digest of rows in any order; a doubled row, a missing row and a stale value each change it. */
export function digestRows(rows: Iterable<DemoRow>): ExpectedRows {
  const lines = Array.from(rows, (row) => {
    const pixels = row.pixels ? createHash('sha256').update(row.pixels).digest('hex') : '';
    const vector = row.vector ? Array.from(row.vector).join(' ') : '';
    return `${row.id}\t${row.value}\t${row.note ?? ''}\t${pixels}\t${vector}\n`;
  });
  const hash = createHash('sha256');
  for (const line of lines.sort()) hash.update(line);
  return { rows: lines.length, checksum: hash.digest('hex') };
}
