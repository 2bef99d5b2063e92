import type { Settings } from '../config.ts';
import type { SweepKind } from '../fleet/demand.ts';
import type { Discovery } from '../fleet/discover.ts';
import { type Explanation, explain } from '../fleet/explain.ts';
import { createSweep, type SweepReport } from '../fleet/sweep.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Lifecycle } from '../tasks/api.ts';
import { defined } from '../tasks/items.ts';
import { createLifecycle } from '../tasks/lifecycle.ts';
import type { Clock, Ledger, TaskQueue } from '../tasks/ports.ts';
import { sweepCursor } from '../tasks/sweep-cursor.ts';
import type { Task } from '../tasks/task.ts';
import type { ProgressEvent } from './reports.ts';

export interface PlannerOptions {
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly clock: Clock;
  readonly settings: Settings;
  /** Canonical roots. */
  readonly roots: readonly string[];
  /** The object store rooted at a canonical URI: a root, a table or a generation. */
  readonly storageFor: (uri: string) => ObjectStore;
  /** Makes sure that a root is this ledger's alone before a sweep looks below it. Whoever sweeps has to give it. */
  readonly belowRoot?: (root: string) => Promise<Discovery>;
  readonly random: () => number;
  readonly newId: () => string;
  /** Only one machine can know that a holder's process is gone. */
  readonly holderGone?: (holder: string) => boolean;
  /** Hears of every task that ends, whoever ends it. */
  readonly onProgress?: (event: ProgressEvent) => void;
}

/** The half of the product that decides and never touches a table's data: it needs no LanceDB. */
export interface Planner {
  readonly lifecycle: Lifecycle;
  sweep(kind: SweepKind, signal?: AbortSignal): Promise<SweepReport>;
  explain(target: string): Promise<Explanation>;
}

export function createPlanner(options: PlannerOptions): Planner {
  const { ledger, queue, clock, settings, roots, storageFor, random, newId } = options;
  const lifecycle = createLifecycle({
    ledger,
    queue,
    clock,
    settings,
    random,
    newId,
    ...(options.holderGone ? { holderGone: options.holderGone } : {}),
    onEnded: (task) => options.onProgress?.(endOf(task, clock.now())),
  });
  return {
    lifecycle,
    sweep: createSweep({
      storageFor,
      lifecycle,
      roots,
      settings,
      clock,
      cursor: sweepCursor(ledger, newId),
      ...(options.belowRoot ? { belowRoot: options.belowRoot } : {}),
    }),
    explain: (target) => explain({ store: storageFor(target), target, lifecycle, settings, clock }),
  };
}

function endOf({ id, kind, target, state, error, partial }: Task, at: number): ProgressEvent {
  const shared = { at, target, kind, taskId: id };
  if (state === 'done') return { ...shared, stage: 'done', message: partial ?? 'done' };
  const code = error?.code ?? 'UNEXPECTED';
  return {
    ...shared,
    ...defined({ code }),
    stage: 'failed',
    message: `${code}: ${error?.message ?? 'no reason is known'}`,
  };
}
