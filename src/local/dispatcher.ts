import { redeliveryDelayMs } from '../backoff.ts';
import type { Lifecycle } from '../tasks/api.ts';
import type { ChangeFeed, Clock } from '../tasks/ports.ts';
import { TASK_KINDS, type TaskKind } from '../tasks/task.ts';
import type { Worker } from '../tasks/worker.ts';
import type { ReceivedMessage, SqliteQueue } from './sqlite-queue.ts';

export interface DispatcherOptions {
  readonly lifecycle: Lifecycle;
  readonly worker: Worker;
  readonly feed: ChangeFeed;
  readonly queue: SqliteQueue;
  readonly clock: Clock;
  /** Deliveries of a queue at the same time in this process. */
  readonly capacity: Readonly<Record<TaskKind, number>>;
  readonly signal: AbortSignal;
}

/** Records read at once. */
const FEED_BATCH = 100;
/** A dead worker is detected by its lease, not by its message, so the message may stay hidden this long. */
const VISIBILITY_MS = 15 * 60_000;
/** Other processes share the file, and their writes raise no event here. */
const POLL_MS = 100;
/** The dispatcher waits for a retry that is due this soon. A later one is not runnable now. */
const PATIENCE_MS = 5_000;

/** Moves records from the change feed to the rules of the stream, and messages from the queues to the worker. */
export interface Dispatcher {
  /** Runs until nothing is runnable, or until the signal has aborted and running tasks have been released. */
  untilIdle(): Promise<void>;
  /** Runs until `over` returns true, or until the signal has aborted and running tasks have been released. */
  until(over: () => Promise<boolean>): Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { lifecycle, feed, queue, clock, signal } = options;
  const running = new Map<TaskKind, number>(TASK_KINDS.map((kind) => [kind, 0]));
  const deliveries = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  async function handleChanges(): Promise<boolean> {
    const { records } = await feed.read(FEED_BATCH);
    for (const record of records) {
      await lifecycle.onRecord(record);
      await feed.handled(record.sequence);
    }
    return records.length > 0;
  }

  async function receive(): Promise<boolean> {
    let any = false;
    for (const kind of TASK_KINDS) {
      const room = options.capacity[kind] - (running.get(kind) ?? 0);
      if (room <= 0) continue;
      const messages = await queue.receive(kind, { limit: room, visibilityMs: VISIBILITY_MS });
      for (const message of messages) start(message);
      any ||= messages.length > 0;
    }
    return any;
  }

  function start(message: ReceivedMessage): void {
    const { kind } = message;
    running.set(kind, (running.get(kind) ?? 0) + 1);
    const delivery = deliver(message)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        running.set(kind, (running.get(kind) ?? 1) - 1);
        deliveries.delete(delivery);
      });
    deliveries.add(delivery);
  }

  async function deliver(message: ReceivedMessage): Promise<void> {
    const outcome = await options.worker.handleDelivery(message, { signal });
    if (outcome === 'acknowledge') await queue.acknowledge(message);
    else await queue.retryLater(message, redeliveryDelayMs(message.receiveCount));
  }

  /** One round; true when anything happened. */
  async function turn(): Promise<boolean> {
    if (failure) throw failure.error;
    const changed = await handleChanges();
    const received = signal.aborted ? false : await receive();
    return changed || received;
  }

  /** Until something may have happened: a delivery ends, this process writes, or the poll is over. */
  async function pause(): Promise<void> {
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const cancel = clock.after(POLL_MS, wake);
    const deaf = queue.onChange(wake);
    await Promise.race([woken, ...deliveries]);
    cancel();
    deaf();
  }

  async function nothingSoon(): Promise<boolean> {
    const times = await Promise.all(TASK_KINDS.map((kind) => queue.nextVisibleAt(kind)));
    return times.every((at) => at === undefined || at > clock.now() + PATIENCE_MS);
  }

  async function until(over: () => Promise<boolean>): Promise<void> {
    for (;;) {
      const busy = await turn();
      if (signal.aborted) break;
      if (busy) continue;
      if (await over()) return;
      await pause();
    }
    // Running tasks see the signal and release their leases. Their last records are handled then.
    await Promise.all(deliveries);
    while (await turn());
  }

  return {
    until,
    untilIdle: () => until(async () => deliveries.size === 0 && (await nothingSoon())),
  };
}
