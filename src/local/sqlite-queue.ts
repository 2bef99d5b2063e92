import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Clock, DeadLetter, DeadLetterQueue, Delivery, TaskQueue } from '../tasks/ports.ts';
import type { TaskKind } from '../tasks/task.ts';
import { inTransaction, openSqliteDatabase, unavailable } from './sqlite-database.ts';

/** A received message; the receipt is good until the message becomes visible again. */
export interface ReceivedMessage extends Delivery {
  readonly receipt: string;
}

/** The lanes of one machine: visibility timeout, delay, receive counts and dead letters, in the ledger's SQLite file. */
export interface SqliteQueue extends TaskQueue, DeadLetterQueue {
  /** Takes at most `limit` visible messages and hides them for `visibilityMs`; returns at once, empty when none is there. */
  receive(lane: TaskKind, options: { limit: number; visibilityMs: number }): Promise<readonly ReceivedMessage[]>;
  /** Removes the message; false when the receipt is too old, so that another delivery owns it. */
  acknowledge(message: ReceivedMessage): Promise<boolean>;
  /** Makes the message visible again after `delayMs`; false when the receipt is too old. */
  retryLater(message: ReceivedMessage, delayMs: number): Promise<boolean>;
  /** When the next message of the lane is or becomes visible, epoch milliseconds. */
  nextVisibleAt(lane: TaskKind): Promise<number | undefined>;
  /** Calls `listener` after each send of this process; a hint only. Answers a function that ends it. */
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

  function takeOne(row: Record<string, unknown>, lane: TaskKind, visibleAt: number): readonly ReceivedMessage[] {
    const message = {
      messageId: String(row.id),
      lane,
      body: String(row.body),
      sentAt: Number(row.sent_at),
      receiveCount: Number(row.receive_count) + 1,
    };
    if (message.receiveCount > maxReceives) {
      const sentence = `The message was received ${maxReceives} times and never finished.`;
      sql.bury.run(message.messageId, lane, message.body, 'RECEIVED_TOO_OFTEN', sentence, options.clock.now());
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
    async send({ lane, body, delayMs = 0 }) {
      const now = options.clock.now();
      const visibleAt = now + Math.min(MAX_DELAY_MS, Math.max(0, delayMs));
      await inTransaction(database, random, () => sql.add.run(randomUUID(), lane, body, now, visibleAt));
      changed();
    },
    async deadLetter({ lane, body, messageId, code, sentence }) {
      const now = options.clock.now();
      await inTransaction(database, random, () => sql.bury.run(messageId, lane, body, code, sentence, now));
    },
    async visible(lane) {
      return reading(() => Number(sql.count.get(lane, options.clock.now())?.n ?? 0));
    },
    async receive(lane, { limit, visibilityMs }) {
      const now = options.clock.now();
      if (reading(() => sql.due.all(lane, now, 1)).length === 0) return [];
      return inTransaction(database, random, () => {
        dropOld(now);
        return sql.due.all(lane, now, limit).flatMap((row) => takeOne(row, lane, now + visibilityMs));
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
    async nextVisibleAt(lane) {
      const at = reading(() => sql.next.get(lane)?.at);
      return typeof at === 'number' ? at : undefined;
    },
    async deadLetters(lane, limit) {
      return reading(() => sql.letters.all(lane, limit).map((row) => letterOf(row, lane)));
    },
    async redrive(lane, messageId) {
      const now = options.clock.now();
      const outcome = await inTransaction(database, random, () => {
        const letter = sql.letter.get(messageId, lane);
        if (!letter) return 'not found';
        sql.add.run(messageId, lane, String(letter.body), now, now);
        sql.dropLetter.run(messageId, lane);
        return 'sent';
      });
      if (outcome === 'sent') changed();
      return outcome;
    },
    async deleteDeadLetter(lane, messageId) {
      return inTransaction(database, random, () => sql.dropLetter.run(messageId, lane).changes > 0);
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
      'INSERT OR REPLACE INTO messages (id, lane, body, sent_at, visible_at, receive_count) VALUES (?, ?, ?, ?, ?, 0)',
    ),
    due: database.prepare(
      'SELECT id, body, sent_at, receive_count FROM messages WHERE lane = ? AND visible_at <= ? ORDER BY visible_at LIMIT ?',
    ),
    count: database.prepare('SELECT count(*) AS n FROM messages WHERE lane = ? AND visible_at <= ?'),
    next: database.prepare('SELECT min(visible_at) AS at FROM messages WHERE lane = ?'),
    hide: database.prepare(
      'UPDATE messages SET visible_at = ?, receipt = ?, receive_count = receive_count + 1 WHERE id = ?',
    ),
    show: database.prepare('UPDATE messages SET visible_at = ?, receipt = NULL WHERE id = ? AND receipt = ?'),
    finish: database.prepare('DELETE FROM messages WHERE id = ? AND receipt = ?'),
    drop: database.prepare('DELETE FROM messages WHERE id = ?'),
    dropOld: database.prepare('DELETE FROM messages WHERE sent_at <= ?'),
    bury: database.prepare(
      'INSERT OR REPLACE INTO dead_letters (id, lane, body, code, sentence, dead_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    letters: database.prepare('SELECT * FROM dead_letters WHERE lane = ? ORDER BY dead_at DESC LIMIT ?'),
    letter: database.prepare('SELECT body FROM dead_letters WHERE id = ? AND lane = ?'),
    dropLetter: database.prepare('DELETE FROM dead_letters WHERE id = ? AND lane = ?'),
  };
}

function letterOf(row: Record<string, unknown>, lane: TaskKind): DeadLetter {
  return {
    messageId: String(row.id),
    lane,
    body: String(row.body),
    code: String(row.code),
    sentence: String(row.sentence),
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
