import { type Connection, Index } from '@lancedb/lancedb';
import { placeHold } from '../lance/hold-commit.ts';
import { digestRows, searchedRow, searchedSchema } from './content.ts';
import { PARTITIONS, searchesOf } from './searches.ts';
import { addInPieces, createTable, type DemoTable, type ExpectedContent, textKey } from './tables.ts';

interface Shape {
  readonly rows: number;
  /** In how many appends the rows come over which the indexes are built. */
  readonly fragments: number;
  /** Rows that are appended afterwards, and in how many pieces. */
  readonly tail?: { readonly rows: number; readonly fragments: number };
}

/** Rows that people search, with an index on the key, the note and the vector. */
async function createSearched(connection: Connection, name: string, shape: Shape): Promise<ExpectedContent> {
  const { rows: indexed, fragments, tail = { rows: 0, fragments: 1 } } = shape;
  const rows = Array.from({ length: indexed + tail.rows }, (_, number) => searchedRow(name, textKey(number)));
  const first = indexed / fragments;
  const table = await createTable(connection, name, rows.slice(0, first), searchedSchema());
  await addInPieces(table, rows.slice(first, indexed), first);
  await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await table.createIndex('note', { config: Index.fts(), name: 'note_idx' });
  await table.createIndex('vector', { config: Index.ivfFlat({ numPartitions: PARTITIONS }), name: 'vector_idx' });
  await addInPieces(table, rows.slice(indexed), tail.rows / tail.fragments);
  return { ...digestRows(rows), searches: searchesOf(rows) };
}

export const articles: DemoTable = {
  name: 'articles',
  ailment: '6 fragments outside of its vector and full-text indexes: fast searches miss their rows',
  build: (connection) =>
    createSearched(connection, 'articles', { rows: 600, fragments: 2, tail: { rows: 300, fragments: 6 } }),
};

export const library: DemoTable = {
  name: 'library',
  ailment: '24 fragments, whose vector and full-text indexes have to survive the compaction',
  build: (connection) => createSearched(connection, 'library', { rows: 1_440, fragments: 24 }),
};

export const abandoned: DemoTable = {
  name: 'abandoned',
  ailment: 'a hold that a crashed process left behind keeps its 20 fragments from compaction',
  async build(connection, storageFor) {
    const expected = await createSearched(connection, 'abandoned', { rows: 800, fragments: 20 });
    await placeHold(storageFor('abandoned'), [], { beforePut: async () => undefined });
    return expected;
  },
};
