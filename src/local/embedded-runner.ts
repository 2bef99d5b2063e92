import type { Settings } from '../config.ts';
import { errorRecord } from '../errors.ts';
import { isForeignRoot } from '../fleet/errors.ts';
import { observe } from '../fleet/observe.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { isAtRest } from '../tasks/at-rest.ts';
import type { ChangeFeed, Clock } from '../tasks/ports.ts';
import type { Runner } from '../upkeep/operator.ts';
import type { ProgressEvent } from '../upkeep/reports.ts';
import { resumeInterrupted } from '../upkeep/resume-interrupted.ts';
import { createRunReporter, type RecentTasks } from '../upkeep/run-report.ts';
import type { WorkerRuntime } from '../upkeep/worker-runtime.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { runOnce, runWatch } from './runner.ts';
import type { SqliteQueue } from './sqlite-queue.ts';

export interface EmbeddedRunnerOptions {
  readonly runtime: WorkerRuntime;
  readonly queue: SqliteQueue;
  readonly feed: ChangeFeed;
  readonly clock: Clock;
  readonly settings: Settings;
  /** Canonical. */
  readonly roots: readonly string[];
  readonly storageFor: (uri: string) => ObjectStore;
  readonly recent: RecentTasks;
  /** Throws when a root belongs to another ledger. */
  readonly assertOwned: () => Promise<void>;
  /** How many tasks of this process have committed something so far. */
  readonly commits: () => number;
  readonly newId: () => string;
  readonly onProgress: (event: ProgressEvent) => void;
}

export interface EmbeddedRunner extends Runner {
  /** Works until the task has ended or has to wait for its next try, or until the signal aborts. */
  waitFor(taskId: string, signal: AbortSignal): Promise<void>;
}

/** Compactions and index builds use all cores. Two at once would only compete for memory. */
const HEAVY_AT_ONCE = 1;

/** Sweeps, queues and workers of one process. */
export function createEmbeddedRunner(options: EmbeddedRunnerOptions): EmbeddedRunner {
  const { runtime, queue, clock, settings, roots, storageFor, recent, onProgress } = options;
  const { lifecycle } = runtime;
  const reporter = createRunReporter({
    lifecycle,
    observe: (target) => observe(storageFor(target), target, settings, clock.now()),
    storageFor,
    roots,
    recent,
  });

  function dispatcher(signal: AbortSignal): Dispatcher {
    return createDispatcher({
      lifecycle,
      worker: runtime.worker,
      feed: options.feed,
      queue,
      clock,
      capacity: {
        Compact: HEAVY_AT_ONCE,
        IndexId: HEAVY_AT_ONCE,
        MergeWal: settings.mergeWalConcurrency,
        OptimizeIndices: HEAVY_AT_ONCE,
        Prune: HEAVY_AT_ONCE,
      },
      signal,
    });
  }

  /** A runner of other roots may have consumed the wake-up, and it cannot run the task. */
  async function wake(): Promise<void> {
    await lifecycle.recover();
    for (const target of (await reporter.knownTables()).targets) {
      for (const task of await lifecycle.openTasks(target)) if (task.state === 'queued') await lifecycle.wake(task);
    }
  }

  /** When another ledger has taken a root, the whole run ends and running tasks release their leases. */
  function sweepUntilRefused(refused: AbortController): WorkerRuntime['sweep'] {
    return async (kind, signal) => {
      try {
        return await runtime.sweep(kind, signal);
      } catch (error) {
        if (isForeignRoot(errorRecord(error))) refused.abort(error);
        throw error;
      }
    };
  }

  return {
    async findTables() {
      return (await reporter.knownTables()).targets;
    },
    async run({ once, signal }) {
      await options.assertOwned();
      const refused = new AbortController();
      const stop = AbortSignal.any([signal, refused.signal]);
      const run = {
        sweep: sweepUntilRefused(refused),
        recover: () => lifecycle.recover(),
        dispatcher: dispatcher(stop),
        settings,
        clock,
        signal: stop,
        onProgress,
        wake,
        resume: async () => resumeInterrupted(lifecycle, (await reporter.knownTables()).targets, options.newId),
        commits: options.commits,
      };
      if (once) await runOnce(run);
      else await runWatch(run);
      refused.signal.throwIfAborted();
      return reporter.report();
    },
    async waitFor(taskId, signal) {
      await lifecycle.recover();
      await dispatcher(signal).until(() => isAtRest(lifecycle, taskId, clock.now()));
    },
  };
}
