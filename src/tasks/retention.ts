import { LONGEST_LIFE_MS } from './cooldown.ts';

const DAY_MS = 86_400_000;
/** A message only asks to look at a task. After this time nothing waits for it, and recover has sent others. */
const LONGEST_MESSAGE_MS = 4 * DAY_MS;
/** What SQS keeps at most. */
const LONGEST_QUEUE_MS = 14 * DAY_MS;

/**
 * How long a message waits in its queue. Shorter than the history, so a message that returns after its task has ended finds
 * that task and runs nothing.
 */
export function messageRetentionMs(historyMs: number): number {
  return Math.min(LONGEST_MESSAGE_MS, Math.floor(historyMs / 2));
}

/** How long a dead letter is kept: not longer than the task it started is remembered, so a redrive does not start it twice. */
export function deadLetterRetentionMs(historyMs: number): number {
  return Math.min(LONGEST_QUEUE_MS, historyMs);
}

/**
 * How long the ledger remembers which task a request joined. That task may be open for its longest life before its own history
 * begins, and the request's message may become a dead letter and wait in its queue once more.
 */
export function aliasRetentionMs(historyMs: number): number {
  return historyMs + Math.max(LONGEST_LIFE_MS, messageRetentionMs(historyMs));
}
