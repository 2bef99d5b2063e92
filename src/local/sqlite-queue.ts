import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Clock, DeadLetter, DeadLetterQueue, Delivery, TaskQueue } from '../tasks/ports.ts';
import type { TaskKind } from '../tasks/task.ts';
import { inTransaction, openSqliteDatabase, unavailable } from './sqlite-database.ts';

/** A received message. The receipt is valid until the message becomes visible again. */
export interface ReceivedMessage extends Delivery {
  readonly receipt: string;
}

/** The queues of one machine: visibility timeout, delay, receive counts and dead letters, in the ledger's SQLite file. */
export interface SqliteQueue extends TaskQueue, DeadLetterQueue {
  /** Takes at most `limit` visible messages and hides them for `visibilityMs`; returns at once, empty when none is there. */
  receive(kind: TaskKind, options: { limit: number; visibilityMs: number }): Promise<readonly ReceivedMessage[]>;
  /** Removes the message. Returns false when the receipt is too old: another delivery owns the message then. */
  acknowledge(message: ReceivedMessage): Promise<boolean>;
  /** Makes the message visible again after `delayMs`. Returns false when the receipt is too old. */
  retryLater(message: ReceivedMessage, delayMs: number): Promise<boolean>;
  /** When the next message of the queue is or becomes visible, epoch milliseconds. */
  nextVisibleAt(kind: TaskKind): Promise<number | undefined>;
  /** Calls `listener` after each send of this process, as a hint only. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
  close(): void;
}

const DEFAULT_RETENTION_MS = 4 * 86_400_000;
const DEFAULT_MAX_RECEIVES = 50;
const MAX_DELAY_MS = 900_000;
const RETENTION_PERIOD_MS = 60_000;

/** Errors of all calls: LEDGER_UNAVAILABLE (contention). */
export function createSqliteQueue(options: {
  readonly file: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly random?: () => number;
  /** A message older than this is dropped; must stay below the task history. Default 4 days. */
  readonly retentionMs?: number;
  /** After so many receives a message becomes a dead letter RECEIVED_TOO_OFTEN. Default 50. */
  readonly maxReceives?: number;
}): SqliteQueue {
  const database = openSqliteDatabase(options.file);
  const random = options.random ?? Math.random;
  const retentionMs = options.retentionMs ?? DEFAULT_RETENTION_MS;
  const maxReceives = options.maxReceives ?? DEFAULT_MAX_RECEIVES;
  const sql = prepare(database);
  const listeners = new Set<() => void>();
  let lastDrop = Number.NEGATIVE_INFINITY;

  function dropOld(now: number): void {
    if (Math.abs(now - lastDrop) < RETENTION_PERIOD_MS) return;
    lastDrop = now;
    sql.dropOld.run(now - retentionMs);
  }

  function takeOne(row: Record<string, unknown>, kind: TaskKind, visibleAt: number): readonly ReceivedMessage[] {
    const message = {
      messageId: String(row.id),
      kind,
      body: String(row.body),
      sentAt: Number(row.sent_at),
      receiveCount: Number(row.receive_count) + 1,
    };
    if (message.receiveCount > maxReceives) {
      const reason = `The message was received ${maxReceives} times and never finished.`;
      sql.bury.run(message.messageId, kind, message.body, 'RECEIVED_TOO_OFTEN', reason, options.clock.now());
      sql.drop.run(message.messageId);
      return [];
    }
    const receipt = randomUUID();
    sql.hide.run(visibleAt, receipt, message.messageId);
    return [{ ...message, receipt }];
  }

  function changed(): void {
    for (const listener of listeners) listener();
  }

  return {
    async send({ kind, body, delayMs = 0 }) {
      const now = options.clock.now();
      const visibleAt = now + Math.min(MAX_DELAY_MS, Math.max(0, delayMs));
      await inTransaction(database, random, () => sql.add.run(randomUUID(), kind, body, now, visibleAt));
      changed();
    },
    async deadLetter({ kind, body, messageId, code, message }) {
      const now = options.clock.now();
      await inTransaction(database, random, () => sql.bury.run(messageId, kind, body, code, message, now));
    },
    async visible(kind) {
      return reading(() => Number(sql.count.get(kind, options.clock.now())?.n ?? 0));
    },
    async receive(kind, { limit, visibilityMs }) {
      const now = options.clock.now();
      if (reading(() => sql.due.all(kind, now, 1)).length === 0) return [];
      return inTransaction(database, random, () => {
        dropOld(now);
        return sql.due.all(kind, now, limit).flatMap((row) => takeOne(row, kind, now + visibilityMs));
      });
    },
    async acknowledge({ messageId, receipt }) {
      return inTransaction(database, random, () => sql.finish.run(messageId, receipt).changes > 0);
    },
    async retryLater({ messageId, receipt }, delayMs) {
      const at = options.clock.now() + Math.max(0, delayMs);
      const done = await inTransaction(database, random, () => sql.show.run(at, messageId, receipt).changes > 0);
      if (done) changed();
      return done;
    },
    async nextVisibleAt(kind) {
      const at = reading(() => sql.next.get(kind)?.at);
      return typeof at === 'number' ? at : undefined;
    },
    async deadLetters(kind, limit) {
      return reading(() => sql.deadLetters.all(kind, limit).map((row) => deadLetterOf(row, kind)));
    },
    async redrive(kind, messageId) {
      const now = options.clock.now();
      const outcome = await inTransaction(database, random, () => {
        const deadLetter = sql.deadLetter.get(messageId, kind);
        if (!deadLetter) return 'not found';
        sql.add.run(messageId, kind, String(deadLetter.body), now, now);
        sql.dropDeadLetter.run(messageId, kind);
        return 'sent';
      });
      if (outcome === 'sent') changed();
      return outcome;
    },
    async deleteDeadLetter(kind, messageId) {
      return inTransaction(database, random, () => sql.dropDeadLetter.run(messageId, kind).changes > 0);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => database.close(),
  };
}

function prepare(database: DatabaseSync) {
  return {
    add: database.prepare(
      'INSERT OR REPLACE INTO messages (id, kind, body, sent_at, visible_at, receive_count) VALUES (?, ?, ?, ?, ?, 0)',
    ),
    due: database.prepare(
      'SELECT id, body, sent_at, receive_count FROM messages WHERE kind = ? AND visible_at <= ? ORDER BY visible_at LIMIT ?',
    ),
    count: database.prepare('SELECT count(*) AS n FROM messages WHERE kind = ? AND visible_at <= ?'),
    next: database.prepare('SELECT min(visible_at) AS at FROM messages WHERE kind = ?'),
    hide: database.prepare(
      'UPDATE messages SET visible_at = ?, receipt = ?, receive_count = receive_count + 1 WHERE id = ?',
    ),
    show: database.prepare('UPDATE messages SET visible_at = ?, receipt = NULL WHERE id = ? AND receipt = ?'),
    finish: database.prepare('DELETE FROM messages WHERE id = ? AND receipt = ?'),
    drop: database.prepare('DELETE FROM messages WHERE id = ?'),
    dropOld: database.prepare('DELETE FROM messages WHERE sent_at <= ?'),
    bury: database.prepare(
      'INSERT OR REPLACE INTO dead_letters (id, kind, body, code, message, dead_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    deadLetters: database.prepare('SELECT * FROM dead_letters WHERE kind = ? ORDER BY dead_at DESC LIMIT ?'),
    deadLetter: database.prepare('SELECT body FROM dead_letters WHERE id = ? AND kind = ?'),
    dropDeadLetter: database.prepare('DELETE FROM dead_letters WHERE id = ? AND kind = ?'),
  };
}

function deadLetterOf(row: Record<string, unknown>, kind: TaskKind): DeadLetter {
  return {
    messageId: String(row.id),
    kind,
    body: String(row.body),
    code: String(row.code),
    message: String(row.message),
    deadAt: Number(row.dead_at),
  };
}

function reading<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw unavailable(error);
  }
}
