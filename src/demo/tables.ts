import type { Connection, Table } from '@lancedb/lancedb';
import type { ObjectStore } from '../lance/object-store.ts';
import { type DemoRow, demoRow, type ExpectedRows, textSchema } from './content.ts';
import type { Search } from './searches.ts';

/** The object store of the table with this name. */
export type StorageFor = (name: string) => ObjectStore;

/** One table of the demo: what is wrong with it, and how to make it so. */
export interface DemoTable {
  readonly name: string;
  /** One line for the reader of the demo. */
  readonly ailment: string;
  /** Makes the table and gives what a right reader must see in it, before maintenance and after. */
  build(connection: Connection, storageFor: StorageFor): Promise<ExpectedContent>;
  /** Sets the times of the table's files, where its ailment is one of age. A table on S3 cannot have it: nobody sets times there. */
  age?(directory: string): Promise<void>;
}

/** What a table must read as, and where it has them, what its searches must answer and its tagged version must hold. */
export interface ExpectedContent extends ExpectedRows {
  readonly searches?: readonly Search[];
  readonly tagged?: TaggedRows;
}

/** What the version under a tag must read as. */
export interface TaggedRows extends ExpectedRows {
  readonly tag: string;
}

export type Rows = readonly DemoRow[];

export function textKey(number: number): string {
  return `k-${String(number).padStart(6, '0')}`;
}

export function span(table: string, first: number, count: number, revision = 0): DemoRow[] {
  return Array.from({ length: count }, (_, offset) => demoRow(table, textKey(first + offset), revision));
}

export async function createTable(
  connection: Connection,
  name: string,
  rows: Rows,
  schema = textSchema('text'),
): Promise<Table> {
  return connection.createTable(name, plain(rows), { schema });
}

export async function addInPieces(table: Table, rows: Rows, pieceSize: number): Promise<void> {
  for (let at = 0; at < rows.length; at += pieceSize) await table.add(plain(rows.slice(at, at + pieceSize)));
}

export function plain(rows: Rows): Record<string, unknown>[] {
  return rows.map((row) => ({ ...row }));
}
