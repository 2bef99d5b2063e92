import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { jitteredWait } from '../backoff.ts';
import { UpkeepError } from '../errors.ts';

const SCHEMA_VERSION = 2;
const BUSY_TIMEOUT_MS = 250;
const BUSY_ATTEMPTS = 60;
const BUSY_FIRST_WAIT_MS = 10;
const BUSY_LONGEST_WAIT_MS = 200;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CORRUPT = 11;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS items (
    pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL, remove_after INTEGER,
    PRIMARY KEY (pk, sk)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS items_by_end ON items (remove_after) WHERE remove_after IS NOT NULL;
  CREATE TABLE IF NOT EXISTS index_entries (
    name TEXT NOT NULL, part TEXT NOT NULL, sort NOT NULL, pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (name, part, sort, pk, sk)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS changes (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, pk TEXT NOT NULL, sk TEXT NOT NULL,
    expired INTEGER NOT NULL, before TEXT, after TEXT);
  CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, digest TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS tokens_by_time ON tokens (at);
  CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, sent_at INTEGER NOT NULL,
    visible_at INTEGER NOT NULL, receive_count INTEGER NOT NULL, receipt TEXT) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS messages_by_time ON messages (kind, visible_at);
  CREATE TABLE IF NOT EXISTS dead_letters (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
    dead_at INTEGER NOT NULL) WITHOUT ROWID;
`;

/**
 * Opens or creates the file that holds ledger and queues. Several processes may have it open.
 * Errors: LEDGER_NOT_OPENED, LEDGER_SCHEMA_NEWER, LEDGER_SCHEMA_OLDER, LEDGER_DAMAGED (permanent).
 */
export function openSqliteDatabase(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    assertNotForeign(file);
    database = new DatabaseSync(file, { timeout: 10_000 });
    assertOurs(file, database);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
    if (version > SCHEMA_VERSION) throw newerSchema(file, version);
    if (version > 0 && version < SCHEMA_VERSION) throw olderSchema(file, version);
    if (version < SCHEMA_VERSION) {
      database.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`);
    }
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof UpkeepError) throw error;
    if (isDamaged(error)) throw damaged(error);
    throw new UpkeepError(`The ledger file ${file} cannot be opened: ${describe(error)}.`, {
      code: 'LEDGER_NOT_OPENED',
      disposition: 'permanent',
      next: 'Check that its folder exists and can be written, or name another ledger file.',
      cause: error,
    });
  }
}

/**
 * Runs `work` inside BEGIN IMMEDIATE. A busy file is retried with jitter. `work` must be synchronous.
 * Errors: LEDGER_UNAVAILABLE (contention) when the file stays busy; nothing is written then.
 */
export async function inTransaction<T>(database: DatabaseSync, random: () => number, work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      database.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (!isBusy(error)) throw unavailable(error);
      if (attempt >= BUSY_ATTEMPTS) throw unavailable(error);
      await sleep(jitteredWait(random, attempt, { firstMs: BUSY_FIRST_WAIT_MS, longestMs: BUSY_LONGEST_WAIT_MS }));
      continue;
    }
    try {
      const value = work();
      database.exec('COMMIT');
      return value;
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error instanceof UpkeepError ? error : unavailable(error);
    }
  }
}

/**
 * Somebody else's database is left as it is, without as much as a file beside it: it is looked at without locks, and before anything opens it
 * for writing. What it holds in a journal of its own is not seen in that way; `assertOurs` sees that before the first write.
 */
function assertNotForeign(file: string): void {
  if (file === ':memory:' || !existsSync(file) || !statSync(file).isFile() || statSync(file).size === 0) return;
  const location = pathToFileURL(file);
  location.searchParams.set('immutable', '1');
  const database = new DatabaseSync(location, { readOnly: true });
  try {
    assertOurs(file, database);
  } finally {
    database.close();
  }
}

/** A ledger has its tables, and an empty file becomes one. Throws LEDGER_NOT_OPENED for a database of anything else. */
function assertOurs(file: string, database: DatabaseSync): void {
  const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const tables = new Set(names.map(({ name }) => String(name)));
  if (tables.size === 0 || ['items', 'changes', 'messages'].every((name) => tables.has(name))) return;
  throw new UpkeepError(
    `${file} is a SQLite database, but no ledger: it holds ${[...tables].slice(0, 3).join(', ')}.`,
    {
      code: 'LEDGER_NOT_OPENED',
      disposition: 'permanent',
      next: 'It was left as it is. Name another ledger file.',
    },
  );
}

function isDamaged(error: unknown): boolean {
  return errorCode(error) === SQLITE_CORRUPT;
}

function damaged(error: unknown): UpkeepError {
  return new UpkeepError(`The ledger file is damaged: ${describe(error)}.`, {
    code: 'LEDGER_DAMAGED',
    disposition: 'permanent',
    next: 'Stop everything that works with it. Restore it from a backup; or move it away, delete _lance_upkeep/owner.json in each of its roots and begin with a new one: the tables are untouched, and what they need is found again.',
    cause: error,
  });
}

/** Turns an error of SQLite into LEDGER_UNAVAILABLE, which callers of the ports retry. Damage becomes LEDGER_DAMAGED, which is permanent. */
export function unavailable(error: unknown): UpkeepError {
  if (isDamaged(error)) return damaged(error);
  return new UpkeepError(`The ledger file could not be read or written: ${describe(error)}.`, {
    code: 'LEDGER_UNAVAILABLE',
    disposition: 'contention',
    next: 'It is tried again; if it stays, look for a full disk or a process that holds the file.',
    cause: error,
  });
}

function newerSchema(file: string, version: number): UpkeepError {
  return new UpkeepError(
    `The ledger file ${file} was written by a newer release (layout ${version}, known is ${SCHEMA_VERSION}).`,
    {
      code: 'LEDGER_SCHEMA_NEWER',
      disposition: 'permanent',
      next: 'Use the newer release, or name another ledger file.',
    },
  );
}

/** Its columns and items have other names. Nothing is lost with such a file: the demand is read from the tables again. */
function olderSchema(file: string, version: number): UpkeepError {
  return new UpkeepError(
    `The ledger file ${file} was written before the first release (layout ${version}, known is ${SCHEMA_VERSION}).`,
    {
      code: 'LEDGER_SCHEMA_OLDER',
      disposition: 'permanent',
      next: 'Stop what uses it, delete it and _lance_upkeep/owner.json in each of its roots, and run again: the tables tell anew what they need.',
    },
  );
}

function isBusy(error: unknown): boolean {
  const code = errorCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** SQLite's primary result code; 0 for any other error. */
function errorCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
