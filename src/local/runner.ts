import type { Settings } from '../config.ts';
import type { SweepKind } from '../fleet/demand.ts';
import { holdLeft } from '../fleet/hold-left.ts';
import type { SweepReport } from '../fleet/sweep.ts';
import type { Lifecycle } from '../tasks/api.ts';
import type { Clock } from '../tasks/ports.ts';
import type { Planner } from '../upkeep/planner.ts';
import type { ProgressEvent } from '../upkeep/reports.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface RunnerOptions {
  readonly sweep: Planner['sweep'];
  readonly recover: Lifecycle['recover'];
  readonly dispatcher: Dispatcher;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (event: ProgressEvent) => void;
  /** Ends the attempts of dead runners and wakes the queued tasks of this run's tables. */
  readonly wake: () => Promise<void>;
  /** Lets tasks of a killed runner continue. Returns how many. */
  readonly resume: () => Promise<number>;
  /** How many tasks of this run have committed something so far. */
  readonly commits: () => number;
}

const RECOVER_EVERY_MS = 60_000;
/** Each round commits something, so only a table that changes all the time reaches this limit. */
const MOST_ROUNDS = 200;

/** Sweeps and works until a round commits nothing. */
export async function runOnce(options: RunnerOptions): Promise<void> {
  let resumed = false;
  await options.wake();
  for (let round = 1; round <= MOST_ROUNDS && !options.signal.aborted; round += 1) {
    const before = options.commits();
    await sweep(options, 'all');
    await options.dispatcher.untilIdle();
    if (options.commits() > before) continue;
    if (resumed || (await options.resume()) === 0) break;
    resumed = true;
    await options.dispatcher.untilIdle();
  }
}

/** Works until the signal aborts, with every sweep on its own interval and the recovery each minute. */
export async function runWatch(options: RunnerOptions): Promise<void> {
  const { settings, signal, dispatcher } = options;
  await options.wake();
  await sweep(options, 'all');
  const timers = [
    every(options, RECOVER_EVERY_MS, () => options.recover()),
    every(options, settings.compactionIntervalMs, () => sweep(options, 'compaction')),
    every(options, settings.mergeWalIntervalMs, () => sweep(options, 'merge')),
    every(options, settings.mergeWalTailIntervalMs, () => sweep(options, 'tails')),
  ];
  try {
    await dispatcher.untilIdle();
    if (!signal.aborted) await options.resume();
    await dispatcher.until(async () => signal.aborted);
  } finally {
    await Promise.all(timers.map((stop) => stop()));
  }
}

async function sweep(options: RunnerOptions, kind: SweepKind): Promise<SweepReport> {
  const report = await options.sweep(kind, options.signal);
  for (const { target, createdAt } of report.holdsLeft) {
    options.onProgress({ at: options.clock.now(), stage: 'failed', ...holdLeft(createdAt), target });
  }
  const asked = report.requested.filter(({ joined }) => !joined);
  options.onProgress({
    at: options.clock.now(),
    stage: 'sweep',
    message: `${kind}: ${report.tables.length} tables read, ${asked.length} tasks asked for, ${report.failed.length} failed${report.skipped.length > 0 ? `, ${report.skipped.length} left out` : ''}`,
  });
  for (const { task } of asked) {
    const message = task.reasons.join(', ');
    options.onProgress({
      at: options.clock.now(),
      stage: 'admitted',
      message,
      target: task.target,
      kind: task.kind,
      taskId: task.id,
    });
  }
  return report;
}

/** Runs after `periodMs`, and again `periodMs` after each end. Returns a function that stops it and waits for a running call. */
function every(options: RunnerOptions, periodMs: number, run: () => Promise<unknown>): () => Promise<void> {
  let stopped = false;
  let current = Promise.resolve();
  let cancel = schedule();
  function schedule(): () => void {
    return options.clock.after(periodMs, () => {
      current = turn();
    });
  }
  async function turn(): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!options.signal.aborted) tellFailure(options, error);
    }
    if (!stopped && !options.signal.aborted) cancel = schedule();
  }
  return async () => {
    stopped = true;
    cancel();
    await current;
  };
}

/** A failed round is reported and repeated with the next period, so the runner survives an outage of its storage. */
function tellFailure(options: RunnerOptions, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  options.onProgress({ at: options.clock.now(), stage: 'failed', message });
}
