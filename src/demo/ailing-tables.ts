import { Index, type Table } from '@lancedb/lancedb';
import { archive } from './archive-table.ts';
import { bucketOf } from './bucket.ts';
import {
  type DemoRow,
  demoRow,
  digestRows,
  type ExpectedRows,
  seededNumbers,
  textSchema,
  wideRow,
  wideSchema,
} from './content.ts';
import { abandoned, articles, library } from './searched-tables.ts';
import { addInPieces, createTable, type DemoTable, plain, type Rows, span, textKey } from './tables.ts';

const fragmented: DemoTable = {
  name: 'fragmented',
  ailment: '40 small fragments, no index on the key',
  async build(connection) {
    const rows = span('fragmented', 0, 4_000);
    const table = await createTable(connection, 'fragmented', rows.slice(0, 100));
    await addInPieces(table, rows.slice(100), 100);
    return digestRows(rows);
  },
};

/** Upserts through the MemWAL and closes one generation. Every row must belong to one shard. */
async function writeGeneration(writer: Table, rows: Rows): Promise<void> {
  await writer.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(plain(rows));
  await writer.closeLsmWriters();
}

/** Rows by id, the newest last: what a reader of base and generations together sees. */
class Expectation {
  readonly #rows = new Map<string | bigint, DemoRow>();

  apply(rows: Rows): Rows {
    for (const row of rows) this.#rows.set(row.id, row);
    return rows;
  }

  digest(): ExpectedRows {
    return digestRows(this.#rows.values());
  }
}

/** Distinct keys drawn from [0, range): most hit rows that an earlier generation or the base wrote, the rest are new. */
function drawKeys(seed: string, count: number, range: number): string[] {
  const next = seededNumbers(seed);
  const keys = new Set<string>();
  while (keys.size < count) keys.add(textKey(Math.floor(next() * range)));
  return [...keys];
}

const sessions: DemoTable = {
  name: 'sessions',
  ailment: '12 generations in the MemWAL that overwrite each other, no index on the key',
  async build(connection) {
    const expectation = new Expectation();
    const table = await createTable(connection, 'sessions', expectation.apply(span('sessions', 0, 500)));
    await addInPieces(table, expectation.apply(span('sessions', 500, 500)), 100);
    await table.setUnenforcedPrimaryKey('id');
    await table.setLsmWriteSpec({ specType: 'unsharded' });
    for (let generation = 1; generation <= 12; generation += 1) {
      const keys = drawKeys(`sessions/${generation}`, 150, 1_500);
      await writeGeneration(table, expectation.apply(keys.map((key) => demoRow('sessions', key, generation))));
    }
    return expectation.digest();
  },
};

const ACCOUNT_BUCKETS = 2;

const accounts: DemoTable = {
  name: 'accounts',
  ailment: '2 MemWAL shards with 5 generations each, no index on the key',
  async build(connection) {
    const expectation = new Expectation();
    const table = await createTable(connection, 'accounts', expectation.apply(span('accounts', 0, 1_000)));
    await table.setUnenforcedPrimaryKey('id');
    await table.setLsmWriteSpec({ specType: 'bucket', column: 'id', numBuckets: ACCOUNT_BUCKETS });
    // A handle keeps one shard writer open at a time, so each bucket gets its own.
    const writers = await Promise.all(Array.from({ length: ACCOUNT_BUCKETS }, () => connection.openTable('accounts')));
    for (let generation = 1; generation <= 5; generation += 1) {
      const keys = drawKeys(`accounts/${generation}`, 200, 1_300);
      const rows = expectation.apply(keys.map((key) => demoRow('accounts', key, generation)));
      await Promise.all(
        writers.map((writer, bucket) =>
          writeGeneration(
            writer,
            rows.filter((row) => bucketOf(String(row.id), ACCOUNT_BUCKETS) === bucket),
          ),
        ),
      );
    }
    return expectation.digest();
  },
};

const orders: DemoTable = {
  name: 'orders',
  ailment: 'a bitmap on the key under the name id_idx, where a BTree belongs',
  async build(connection) {
    const rows = Array.from({ length: 3_000 }, (_, number) => demoRow('orders', BigInt(number), 0));
    const table = await createTable(connection, 'orders', rows.slice(0, 2_000), textSchema('number'));
    await table.createIndex('id', { config: Index.bitmap(), name: 'id_idx' });
    await addInPieces(table, rows.slice(2_000), 500);
    return digestRows(rows);
  },
};

const images: DemoTable = {
  name: 'images',
  ailment: '60 fragments of rows of 50 to 100 KB',
  async build(connection) {
    const rows = Array.from({ length: 120 }, (_, number) => wideRow('images', textKey(number)));
    const table = await createTable(connection, 'images', rows.slice(0, 2), wideSchema());
    await addInPieces(table, rows.slice(2), 2);
    return digestRows(rows);
  },
};

const healthy: DemoTable = {
  name: 'healthy',
  ailment: 'nothing: one fragment, its BTree covers every row',
  async build(connection) {
    const rows = span('healthy', 0, 2_000);
    const table = await createTable(connection, 'healthy', rows);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    return digestRows(rows);
  },
};

export const DEMO_TABLES: readonly DemoTable[] = [
  fragmented,
  sessions,
  accounts,
  orders,
  images,
  articles,
  library,
  abandoned,
  archive,
  healthy,
];
