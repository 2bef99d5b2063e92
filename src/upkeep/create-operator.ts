import type { Settings } from '../config.ts';
import { canonicalTarget } from '../fleet/targets.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Clock, DeadLetterQueue } from '../tasks/ports.ts';
import type { Task } from '../tasks/task.ts';
import { createDeadLetterDesk } from './dead-letters.ts';
import type { Operator } from './operator.ts';
import { createPauses } from './pauses.ts';
import type { Planner } from './planner.ts';
import { previewPrune } from './preview-prune.ts';
import { createQueries } from './queries.ts';
import { type ProgressEvent, SCHEMA_VERSION } from './reports.ts';
import { taskReport } from './task-report.ts';

export interface OperatorPorts {
  readonly planner: Planner;
  readonly queue: DeadLetterQueue;
  /** The object store rooted at a canonical URI: a root, a table or a generation. */
  readonly storageFor: (uri: string) => ObjectStore;
  /** Canonical roots. */
  readonly roots: readonly string[];
  readonly settings: Settings;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Before a request is written down: throws where the roots are another ledger's. */
  readonly beforeAdmission?: () => Promise<void>;
  /** Once a request is written down. */
  readonly afterAdmission: (task: Task) => Promise<void>;
  /** Returns when the task has ended or has to wait for its next try, or when the signal aborts. */
  readonly waitFor: (taskId: string, signal: AbortSignal) => Promise<void>;
  readonly onProgress: (event: ProgressEvent) => void;
  readonly close: () => Promise<void>;
}

/** The operator over its ports: the same rules wherever the ledger and the queues are. */
export function createOperator(ports: OperatorPorts): Operator {
  const { planner, storageFor, roots, settings, clock } = ports;
  const { lifecycle } = planner;
  const { observe, ...queries } = createQueries({ planner, storageFor, roots, settings, clock });

  return {
    ...queries,
    ...createPauses({ lifecycle, roots, clock }),
    ...createDeadLetterDesk(ports),
    async previewPrune(named) {
      const target = await canonicalTarget(named, roots);
      return previewPrune({ storageFor, settings, now: () => clock.now() }, target);
    },
    async send({ kind, target: named, dependsOn, force }, { wait, signal }) {
      const target = await canonicalTarget(named, roots);
      // A table that cannot be read is refused here, before anything is written down for it.
      await observe(target);
      await ports.beforeAdmission?.();
      const admission = { taskId: ports.newId(), kind, target, dependsOn, reason: 'manual', force } as const;
      const { taskId, joined, task } = await lifecycle.admit(admission);
      await ports.afterAdmission(task);
      if (wait) await ports.waitFor(taskId, signal);
      const now = (await lifecycle.getTask(taskId)) ?? task;
      return { schemaVersion: SCHEMA_VERSION, taskId, joined, task: taskReport(now) };
    },
    close: ports.close,
  };
}
