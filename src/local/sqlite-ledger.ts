import { createHash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { assertKeys, assertWrites, keyOfWrite, ledgerRequestInvalid } from '../tasks/ledger-requests.ts';
import type {
  ChangeFeed,
  Clock,
  IndexQuery,
  Item,
  ItemKey,
  Ledger,
  Page,
  TransactResult,
  Write,
} from '../tasks/ports.ts';
import { INDEXES, TTL_ATTRIBUTE } from '../tasks/ports.ts';
import { decodeItem, encodeAttributes, holds, updated } from './item-encoding.ts';
import { createChangeFeed } from './sqlite-changes.ts';
import { inTransaction, openSqliteDatabase, unavailable } from './sqlite-database.ts';

const TOKEN_LIFE_MS = 600_000;

export interface SqliteLedger extends Ledger {
  readonly feed: ChangeFeed;
  /** Calls `listener` after each write of this process, as a hint only. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
  close(): void;
}

/** The ledger of one machine, in one SQLite file (`:memory:` for tests). Several processes may share the file. */
export function createSqliteLedger(options: {
  readonly file: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly random?: () => number;
}): SqliteLedger {
  const database = openSqliteDatabase(options.file);
  const random = options.random ?? Math.random;
  const statements = prepare(database);
  const listeners = new Set<() => void>();

  function read(key: ItemKey): Item | undefined {
    const row = statements.get.get(key.pk, key.sk);
    return row && decodeItem(key, String(row.body));
  }

  function apply(write: Write, old: Item | undefined): boolean {
    if (write.kind === 'check') return false;
    const key = keyOfWrite(write);
    if (write.kind === 'delete' && !old) return false;
    if (write.kind === 'delete') writeItem(statements, key, old, undefined, false);
    else {
      const attributes = write.kind === 'put' ? write.item.attributes : updated(write, old);
      writeItem(statements, key, old, { pk: key.pk, sk: key.sk, attributes }, false);
    }
    return true;
  }

  function transactNow(writes: readonly Write[], token: string): { result: TransactResult; changed: boolean } {
    const now = options.clock.now();
    const digest = digestOf(writes);
    const earlier = statements.token.get(token, now - TOKEN_LIFE_MS);
    if (earlier) {
      if (earlier.digest !== digest)
        throw ledgerRequestInvalid(`The client token ${token} was used again for other writes.`);
      return { result: { written: true }, changed: false };
    }
    const before = writes.map((write) => read(keyOfWrite(write)));
    const refused = writes.flatMap((write, index) =>
      holds(write.when, before[index]) ? [] : [{ index, old: before[index] }],
    );
    if (refused.length > 0) return { result: { written: false, refused }, changed: false };
    const changed = writes.map((write, index) => apply(write, before[index])).includes(true);
    statements.forgetTokens.run(now - TOKEN_LIFE_MS);
    statements.keepToken.run(token, digest, now);
    return { result: { written: true }, changed };
  }

  return {
    async get(key) {
      return reading(() => read(key));
    },
    async getMany(keys) {
      assertKeys(keys);
      return reading(() => keys.map(read));
    },
    async query({ pk, skPrefix, limit, after, order = 'ascending' }) {
      return reading(() => queryPage(statements, { pk, skPrefix, limit, order, ...(after ? { after } : {}) }));
    },
    async queryIndex(query) {
      return reading(() => queryEntries(statements, query));
    },
    async transact(writes, { clientToken }) {
      assertWrites(writes);
      const { result, changed } = await inTransaction(database, random, () => transactNow(writes, clientToken));
      if (changed) for (const listener of listeners) listener();
      return result;
    },
    feed: createChangeFeed({
      database,
      random,
      now: () => options.clock.now(),
      remove: (item) => writeItem(statements, item, item, undefined, true),
    }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => database.close(),
  };
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: DatabaseSync) {
  const page = (comparison: string, direction: string): StatementSync =>
    database.prepare(
      `SELECT sk, body FROM items WHERE pk = ? AND sk >= ? AND sk < ? AND sk ${comparison} ? ORDER BY sk ${direction} LIMIT ?`,
    );
  const entries = (direction: string): StatementSync =>
    database.prepare(
      `SELECT pk, sk, body FROM index_entries WHERE name = ? AND part = ? AND sort >= ? AND sort <= ? AND sort < ?
       ORDER BY sort ${direction}, pk ${direction}, sk ${direction} LIMIT ?`,
    );
  return {
    get: database.prepare('SELECT body FROM items WHERE pk = ? AND sk = ?'),
    put: database.prepare('INSERT OR REPLACE INTO items (pk, sk, body, remove_after) VALUES (?, ?, ?, ?)'),
    delete: database.prepare('DELETE FROM items WHERE pk = ? AND sk = ?'),
    putEntry: database.prepare(
      'INSERT OR REPLACE INTO index_entries (name, part, sort, pk, sk, body) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    deleteEntry: database.prepare(
      'DELETE FROM index_entries WHERE name = ? AND part = ? AND sort = ? AND pk = ? AND sk = ?',
    ),
    change: database.prepare('INSERT INTO changes (pk, sk, expired, before, after) VALUES (?, ?, ?, ?, ?)'),
    token: database.prepare('SELECT digest FROM tokens WHERE token = ? AND at > ?'),
    keepToken: database.prepare('INSERT OR REPLACE INTO tokens (token, digest, at) VALUES (?, ?, ?)'),
    forgetTokens: database.prepare('DELETE FROM tokens WHERE at <= ?'),
    ascendingPage: page('>', 'ASC'),
    descendingPage: page('<', 'DESC'),
    ascendingEntries: entries('ASC'),
    descendingEntries: entries('DESC'),
  };
}

/** Writes the item, or removes it when undefined, with its index entries and its change record. */
function writeItem(
  statements: Statements,
  key: ItemKey,
  old: Item | undefined,
  item: Item | undefined,
  expired: boolean,
) {
  const body = item && encodeAttributes(item.attributes);
  if (item && body !== undefined) {
    const end = item.attributes[TTL_ATTRIBUTE];
    statements.put.run(key.pk, key.sk, body, typeof end === 'number' ? end : null);
  } else statements.delete.run(key.pk, key.sk);
  for (const name of Object.keys(INDEXES) as (keyof typeof INDEXES)[]) {
    const [was, is] = [entryOf(name, old), entryOf(name, item)];
    if (was?.part === is?.part && was?.sort === is?.sort && was?.body === is?.body) continue;
    if (was) statements.deleteEntry.run(name, was.part, was.sort, key.pk, key.sk);
    if (is) statements.putEntry.run(name, is.part, is.sort, key.pk, key.sk, is.body);
  }
  const before = old ? encodeAttributes(old.attributes) : null;
  if (before === body) return;
  statements.change.run(key.pk, key.sk, expired ? 1 : 0, before, body ?? null);
}

function entryOf(name: keyof typeof INDEXES, item: Item | undefined) {
  const { partition, sort, project } = INDEXES[name];
  const part = item?.attributes[partition];
  const at = item?.attributes[sort];
  if (!item || typeof part !== 'string' || (typeof at !== 'string' && typeof at !== 'number')) return undefined;
  const kept = [partition, sort, ...project].flatMap((attribute) => {
    const value = item.attributes[attribute];
    return value === undefined ? [] : [[attribute, value] as const];
  });
  return { part, sort: at, body: encodeAttributes(Object.fromEntries(kept)) };
}

function queryPage(
  statements: Statements,
  query: { pk: string; skPrefix: string; limit: number; after?: string; order: 'ascending' | 'descending' },
): Page<Item> {
  const end = `${query.skPrefix}\u{10ffff}`;
  const rows =
    query.order === 'ascending'
      ? statements.ascendingPage.all(query.pk, query.skPrefix, end, query.after ?? '', query.limit + 1)
      : statements.descendingPage.all(query.pk, query.skPrefix, end, query.after ?? end, query.limit + 1);
  const items = rows
    .slice(0, query.limit)
    .map((row) => decodeItem({ pk: query.pk, sk: String(row.sk) }, String(row.body)));
  const last = items.at(-1);
  return rows.length > query.limit && last ? { items, next: last.sk } : { items };
}

function queryEntries(statements: Statements, query: IndexQuery): readonly Item[] {
  // In SQLite every text sorts after every number, so these two bounds enclose both kinds of sort value.
  const from = query.from ?? Number.NEGATIVE_INFINITY;
  const to = query.to ?? '\u{10ffff}';
  const before = query.before ?? '\u{10ffff}\u{10ffff}';
  const statement = query.order === 'ascending' ? statements.ascendingEntries : statements.descendingEntries;
  return statement
    .all(query.index, query.partition, from, to, before, query.limit)
    .map((row) => decodeItem({ pk: String(row.pk), sk: String(row.sk) }, String(row.body)));
}

function reading<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw unavailable(error);
  }
}

function digestOf(writes: readonly Write[]): string {
  const plain = JSON.stringify(writes, (_key, value) => (value instanceof Set ? [...value].sort() : value));
  return createHash('sha256').update(plain).digest('base64');
}
