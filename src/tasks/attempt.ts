import { errorRecord, typedErrorIn, type UpkeepError } from '../errors.ts';
import type { AttemptEnd, Claim, Lifecycle } from './api.ts';
import { deadlineReached, leaseLost, shutdown } from './errors.ts';
import type { Clock } from './ports.ts';
import { RENEW_EVERY_MS } from './table-items.ts';
import type { AttemptContext, FenceOptions, Perform } from './task.ts';

/** Margin before the lease's end and before the deadline. Nothing may still be running inside this margin. */
export const RESERVE_MS = 30_000;
const RENEW_AGAIN_MS = 5_000;

export interface AttemptOptions {
  readonly claim: Claim;
  readonly perform: Perform;
  readonly lifecycle: Pick<Lifecycle, 'renew' | 'baseVersion'>;
  readonly clock: Clock;
  /** Ends the process at once. Called when a native call might commit after the lease or the deadline has passed. */
  readonly exit: (error: UpkeepError) => void;
  /** On the monotonic clock. Infinity without a deadline. */
  readonly deadlineAt: number;
  readonly shutdownSignal?: AbortSignal;
  readonly onProgress?: (line: string) => void;
}

/*
 * claim        renew        renew                        lease end
 *   |--- 60 s ---|--- 60 s ---| x  x  x (5 s apart) ... |--- 30 s ---|
 *                                                       ^ lost: abort; with a native call in flight: exit
 */

/** Runs the work of a claim, renews its lease, and returns how it ended. Errors of the work never throw. */
export async function runAttempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { claim, clock, exit } = options;
  const { target } = claim.task;
  const stop = new AbortController();
  let leaseEndsAt = claim.leaseEndsAt;
  let inFlight = 0;
  /** The lease is lost or the attempt has ended: no more renewals, not even by an answer that arrives now. */
  let over = false;
  let cancelRenewal = (): void => {};
  let cancelLeaseEnd = (): void => {};

  function abort(reason: UpkeepError, exitNow: boolean): void {
    if (!stop.signal.aborted) stop.abort(reason);
    if (exitNow && inFlight > 0) exit(reason);
  }

  function unwatch(): void {
    over = true;
    cancelRenewal();
    cancelLeaseEnd();
  }

  function lose(error: UpkeepError): void {
    unwatch();
    abort(error, true);
  }

  function keepUntil(endsAt: number): void {
    leaseEndsAt = endsAt;
    cancelLeaseEnd();
    if (over) return;
    cancelLeaseEnd = clock.after(Math.max(0, endsAt - RESERVE_MS - clock.monotonic()), () =>
      lose(leaseLost(target, 'it could not be renewed in time')),
    );
  }

  async function renewOnce(): Promise<void> {
    try {
      keepUntil(await options.lifecycle.renew(claim));
    } catch (error) {
      const typed = typedErrorIn(error);
      if (typed?.code === 'LEASE_LOST') lose(typed);
      throw error;
    }
  }

  function scheduleRenewal(delayMs: number): void {
    if (over) return;
    cancelRenewal = clock.after(delayMs, () => {
      renewOnce().then(
        () => scheduleRenewal(RENEW_EVERY_MS),
        // The ledger was not reached. A timer watches the lease's end. After a loss nothing is scheduled.
        () => scheduleRenewal(RENEW_AGAIN_MS),
      );
    });
  }

  function assertRunning(): void {
    if (!stop.signal.aborted && clock.monotonic() >= leaseEndsAt - RESERVE_MS) {
      lose(leaseLost(target, 'its time was over before it was renewed'));
    }
    stop.signal.throwIfAborted();
  }

  const context: AttemptContext = {
    task: claim.task,
    attempt: claim.task.attempts,
    signal: stop.signal,
    remainingMs: () => Math.max(0, options.deadlineAt - RESERVE_MS - clock.monotonic()),
    async fence({ whileStopping = false }: FenceOptions = {}) {
      // After a loss nothing may be committed, for any reason.
      if (over || !whileStopping) stop.signal.throwIfAborted();
      await renewOnce();
      if (over || !whileStopping) assertRunning();
    },
    baseVersion: (current) => options.lifecycle.baseVersion(claim, current),
    async native(run) {
      assertRunning();
      inFlight += 1;
      try {
        return await run();
      } finally {
        inFlight -= 1;
      }
    },
    progress: (line) => options.onProgress?.(line),
  };

  const onShutdown = (): void => abort(shutdown(target), false);
  const left = options.deadlineAt - RESERVE_MS - clock.monotonic();
  const cancelDeadline = Number.isFinite(left)
    ? clock.after(Math.max(0, left), () => abort(deadlineReached(target), true))
    : (): void => {};
  keepUntil(leaseEndsAt);
  scheduleRenewal(RENEW_EVERY_MS);
  options.shutdownSignal?.addEventListener('abort', onShutdown);
  try {
    if (options.shutdownSignal?.aborted) onShutdown();
    stop.signal.throwIfAborted();
    return { end: 'done', result: await options.perform(context) };
  } catch (error) {
    return endAfter(error, stop.signal);
  } finally {
    unwatch();
    cancelDeadline();
    options.shutdownSignal?.removeEventListener('abort', onShutdown);
  }
}

/** The reason for stopping says more than the error that the stopped work threw. */
function endAfter(error: unknown, signal: AbortSignal): AttemptEnd {
  const record = errorRecord(error);
  if (!signal.aborted || record.disposition === 'permanent') return { end: 'error', error: record };
  const reason = errorRecord(signal.reason);
  if (reason.code === 'SHUTDOWN') return { end: 'released', error: reason };
  return { end: 'error', error: record.code === 'UNEXPECTED' ? reason : record };
}
