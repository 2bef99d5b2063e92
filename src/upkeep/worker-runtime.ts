import type { UpkeepError } from '../errors.ts';
import { canonicalTarget } from '../fleet/targets.ts';
import { defined } from '../tasks/items.ts';
import type { Perform, Task, WorkResult } from '../tasks/task.ts';
import { createWorker, type Worker, type WorkerEvent } from '../tasks/worker.ts';
import type { Lancedb } from '../work/lancedb.ts';
import { createPerform } from '../work/perform.ts';
import { createPlanner, type Planner, type PlannerOptions } from './planner.ts';
import type { ProgressEvent } from './reports.ts';

export interface WorkerRuntimeOptions extends PlannerOptions {
  readonly lancedb: Lancedb;
  /** Names this process in leases. */
  readonly holder: string;
  /** Ends the process at once, with a native call in flight. */
  readonly exit: (error: UpkeepError) => void;
  readonly onProgress: (event: ProgressEvent) => void;
  /** What an attempt did, before it is settled. */
  readonly onResult: (result: WorkResult, task: Task) => void;
  /** Goes around the work of every task. */
  readonly wrapPerform?: (perform: Perform) => Perform;
}

/** The product put together from its ports: what decides, and the worker that acts. A queue and the runner of one machine start here. */
export interface WorkerRuntime extends Planner {
  readonly worker: Worker;
}

export function createWorkerRuntime(options: WorkerRuntimeOptions): WorkerRuntime {
  const { queue, clock, settings, roots, storageFor, lancedb, newId } = options;
  const planner = createPlanner(options);
  const work = createPerform({ storageFor, lancedb, settings, now: () => clock.now() });
  const perform = options.wrapPerform ? options.wrapPerform(work) : work;
  const worker = createWorker({
    lifecycle: planner.lifecycle,
    queue,
    clock,
    perform: telling(perform, options.onResult),
    canonicalTarget: (target) => canonicalTarget(target, roots),
    holder: options.holder,
    newId,
    exit: options.exit,
    onEvent: (event) => {
      // A second wake-up of a task that has ended is the rule, not news.
      if (event.stage === 'waiting' && event.message === 'finished') return;
      // Ends are told by the lifecycle, which hears of all of them.
      if (event.stage === 'done' || event.stage === 'failed') return;
      options.onProgress(progressOf(event, clock.now()));
    },
  });
  return { ...planner, worker };
}

function telling(perform: Perform, onResult: (result: WorkResult, task: Task) => void): Perform {
  return async (context) => {
    const result = await perform(context);
    onResult(result, context.task);
    return result;
  };
}

function progressOf({ stage, message, task, code, token, messageId }: WorkerEvent, at: number): ProgressEvent {
  const subject = task ? { target: task.target, kind: task.kind, taskId: task.id } : {};
  const text = code === undefined ? message : `${code}: ${message}`;
  return {
    at,
    stage,
    message: text,
    ...subject,
    ...defined({ code, token, messageId }),
  };
}
