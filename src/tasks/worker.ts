import { errorRecord, typedErrorIn, type UpkeepError } from '../errors.ts';
import type { Admission, AttemptEnd, Claim, ClaimOutcome, Lifecycle, Settlement } from './api.ts';
import { runAttempt } from './attempt.ts';
import { defined } from './items.ts';
import { pause } from './ledger-context.ts';
import { parseMessage } from './message.ts';
import type { Clock, Delivery, TaskQueue } from './ports.ts';
import type { Perform, Task, TaskRequest } from './task.ts';

/** How long a message with an unknown dependency is retried. */
export const UNKNOWN_DEPENDENCY_MS = 15 * 60_000;
const TRIES = 5;

export type DeliveryOutcome = 'acknowledge' | 'retry-later';

export interface WorkerEvent {
  readonly stage: 'admitted' | 'waiting' | 'started' | 'progress' | 'done' | 'retry' | 'failed' | 'dead-letter';
  readonly message: string;
  readonly task?: Task;
  readonly code?: string;
  /** Fencing token of the attempt that the event is about. */
  readonly token?: number;
  /** Of a dead letter. */
  readonly messageId?: string;
}

export interface WorkerOptions {
  readonly lifecycle: Lifecycle;
  readonly queue: Pick<TaskQueue, 'deadLetter'>;
  readonly clock: Clock;
  readonly perform: Perform;
  /** Returns the canonical target. Throws a typed error for a bad one, and TARGET_OUTSIDE_ROOTS outside the roots. */
  readonly canonicalTarget: (target: string) => string | Promise<string>;
  readonly newId: () => string;
  /** Names this process in the lease. */
  readonly holder: string;
  /** Ends the process at once. */
  readonly exit: (error: UpkeepError) => void;
  readonly onEvent?: (event: WorkerEvent) => void;
}

export interface DeliveryOptions {
  /** Aborts when the process shuts down. A running task goes back to queued at once, and the attempt is not counted. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the process is stopped from outside. Without it there is no deadline. */
  readonly remainingMs?: () => number;
}

export interface Worker {
  /** Bad messages and failed work do not throw. Throws only when a dead letter could not be written. */
  handleDelivery(delivery: Delivery, options?: DeliveryOptions): Promise<DeliveryOutcome>;
}

type Tell = (stage: WorkerEvent['stage'], message: string, code?: string) => void;

/** Turns deliveries of a queue into attempts. */
export function createWorker(worker: WorkerOptions): Worker {
  const { lifecycle } = worker;

  async function handleDelivery(delivery: Delivery, options: DeliveryOptions = {}): Promise<DeliveryOutcome> {
    let message: TaskRequest;
    try {
      message = parseMessage(delivery.body);
    } catch (error) {
      return refuse(delivery, error);
    }
    let target: string;
    try {
      target = await worker.canonicalTarget(message.target);
    } catch (error) {
      return buryMessage(delivery, message, error);
    }
    let admission: Admission;
    try {
      const taskId = message.taskId ?? `message-${delivery.messageId}`;
      admission = await lifecycle.admit({ ...message, target, taskId });
    } catch (error) {
      return refuse(delivery, error);
    }
    return attempt(delivery, admission.task, worker.perform, options);
  }

  async function attempt(
    delivery: Delivery,
    task: Task,
    perform: Perform,
    options: DeliveryOptions,
  ): Promise<DeliveryOutcome> {
    try {
      if (task.kind !== delivery.kind) {
        await lifecycle.wake(task);
        return 'acknowledge';
      }
      const outcome = await claimSurely(task.id, worker.newId());
      if (outcome.outcome !== 'claimed') {
        report('waiting', 'reason' in outcome ? `${outcome.outcome}: ${outcome.reason}` : outcome.outcome, task);
        return outcome.outcome === 'unknown' ? 'retry-later' : 'acknowledge';
      }
      return await run(outcome.claim, perform, options);
    } catch (error) {
      // The ledger was not reached. The message returns, and recover ends the attempt.
      report('retry', errorRecord(error).message, task);
      return 'retry-later';
    }
  }

  /**
   * A wake-up for a known task needs no dead letter. A target outside the roots belongs to another process, which
   * is woken as well. A wrong or missing target ends its task, which would otherwise be woken for ever.
   */
  async function buryMessage(delivery: Delivery, message: TaskRequest, error: unknown): Promise<DeliveryOutcome> {
    const { code, disposition } = errorRecord(error);
    if (message.taskId === undefined || disposition !== 'permanent') return refuse(delivery, error);
    let task: Task | undefined;
    try {
      task = await lifecycle.getTask(message.taskId);
    } catch (unread) {
      return refuse(delivery, unread);
    }
    if (task?.target !== message.target || task.kind !== message.kind) return refuse(delivery, error);
    if (code === 'TARGET_OUTSIDE_ROOTS') {
      report('waiting', 'another process maintains its root', task, code);
      return 'acknowledge';
    }
    return attempt(delivery, task, () => Promise.reject(error), {});
  }

  /** A message that can never become a task is kept for a person, with the reason, instead of returning for hours. */
  async function refuse(delivery: Delivery, error: unknown): Promise<DeliveryOutcome> {
    const { code, message, disposition } = errorRecord(error);
    const age = worker.clock.now() - delivery.sentAt;
    const hopeless = code === 'DEPENDENCY_UNKNOWN' ? age >= UNKNOWN_DEPENDENCY_MS : disposition === 'permanent';
    if (!hopeless) {
      report('retry', message, undefined, code);
      return 'retry-later';
    }
    const { kind, body, messageId } = delivery;
    await worker.queue.deadLetter({ kind, body, messageId, code, message });
    worker.onEvent?.({ stage: 'dead-letter', message, code, messageId });
    return 'acknowledge';
  }

  /** Repeats the claim under the same claimId when the answer was lost. A claim that was written is adopted. */
  function claimSurely(taskId: string, claimId: string): Promise<ClaimOutcome> {
    return surely(() => lifecycle.claim({ taskId, claimId, holder: worker.holder }));
  }

  async function surely<T>(call: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        const typed = typedErrorIn(error);
        if (typed?.code === 'LEASE_LOST' || typed?.disposition === 'permanent' || tries >= TRIES) throw error;
        await pause(worker, 200 * 2 ** tries);
      }
    }
  }

  async function run(claim: Claim, perform: Perform, options: DeliveryOptions): Promise<DeliveryOutcome> {
    const { task } = claim;
    const tell: Tell = (stage, message, code) => report(stage, message, task, code, claim.token);
    tell('started', `attempt ${task.attempts}`);
    const remaining = options.remainingMs?.() ?? Number.POSITIVE_INFINITY;
    const end = await runAttempt({
      claim,
      perform,
      lifecycle,
      clock: worker.clock,
      exit: worker.exit,
      deadlineAt: worker.clock.monotonic() + remaining,
      ...(options.signal ? { shutdownSignal: options.signal } : {}),
      onProgress: (line) => tell('progress', line),
    });
    try {
      reportEnd(tell, end, await surely(() => lifecycle.settle(claim, end)));
    } catch (error) {
      if (typedErrorIn(error)?.code !== 'LEASE_LOST') throw error;
      tell('retry', errorRecord(error).message, 'LEASE_LOST');
    }
    return 'acknowledge';
  }

  function reportEnd(tell: Tell, end: AttemptEnd, { state, notBefore }: Settlement): void {
    if (end.end === 'done' && state === 'done') {
      tell('done', end.result.partial ?? 'done');
      return;
    }
    const error = end.end === 'done' ? undefined : end.error;
    const when = notBefore === undefined ? '' : ` Again at ${new Date(notBefore).toISOString()}.`;
    tell(state === 'failed' ? 'failed' : 'retry', `${error?.message ?? 'refused'}${when}`, error?.code);
  }

  function report(stage: WorkerEvent['stage'], message: string, task?: Task, code?: string, token?: number): void {
    worker.onEvent?.({ stage, message, ...defined({ task, code, token }) });
  }

  return { handleDelivery };
}
