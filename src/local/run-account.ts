import { errorRecord, UpkeepError } from '../errors.ts';
import { discoverStores } from '../fleet/discover.ts';
import type { StoreFacts } from '../fleet/facts.ts';
import { inspectReport } from '../fleet/inspect.ts';
import { type InspectReport, type RunReport, SCHEMA_VERSION } from '../plane.ts';
import type { Lifecycle } from '../tasks/api.ts';
import type { Task } from '../tasks/task.ts';
import { taskReport } from '../views.ts';
import type { Storage } from './storage.ts';

/** Tasks named in the report of a run that never ends. */
const MOST_REPORTED = 1000;

export interface RunAccountParts {
  readonly lifecycle: Pick<Lifecycle, 'getTask' | 'openTasks'>;
  readonly observe: (target: string) => Promise<StoreFacts>;
  readonly storageFor: Storage['storageFor'];
  readonly roots: readonly string[];
}

/** What a run has to tell at its end. */
export interface RunAccount {
  /** Notes a task that this plane admitted or worked on. */
  touch(taskId: string): void;
  knownStores(): Promise<{ readonly targets: readonly string[] } & Pick<RunReport, 'leftOut' | 'unreadable'>>;
  report(): Promise<RunReport>;
}

export function createRunAccount({ lifecycle, observe, storageFor, roots }: RunAccountParts): RunAccount {
  /** Oldest first. */
  const touched = new Set<string>();

  async function knownStores() {
    const found = await Promise.all(roots.map((root) => discoverStores(storageFor(root))));
    return {
      targets: [...new Set(found.flatMap(({ targets }) => targets))].sort(),
      unreadable: found.flatMap(({ failed }) => failed),
      leftOut: found.flatMap(({ leftOut }) => leftOut),
    };
  }

  /** What this run worked on, and what is still open on its stores: a ledger may hold other roots' tasks, too. */
  async function reportedTasks(targets: readonly string[]): Promise<Task[]> {
    const tasks = new Map<string, Task>();
    for (const target of targets) for (const task of await lifecycle.openTasks(target)) tasks.set(task.id, task);
    for (const id of touched) {
      const task = await lifecycle.getTask(id);
      if (task && roots.some((root) => task.target.startsWith(`${root}/`))) tasks.set(task.id, task);
    }
    return [...tasks.values()];
  }

  return {
    knownStores,
    touch(taskId) {
      touched.delete(taskId);
      touched.add(taskId);
      if (touched.size > MOST_REPORTED) touched.delete(touched.values().next().value as string);
    },
    async report() {
      const stores: InspectReport[] = [];
      const { targets, unreadable, leftOut } = await knownStores();
      for (const target of targets) {
        try {
          const facts = await observe(target);
          stores.push(inspectReport(facts));
          if (facts.error) unreadable.push({ target, error: facts.error });
        } catch (error) {
          if (!(error instanceof UpkeepError)) throw error;
          unreadable.push({ target, error: errorRecord(error) });
        }
      }
      const tasks = await reportedTasks(targets);
      const inOrder = tasks.sort((a, b) => a.createdAt - b.createdAt);
      return { schemaVersion: SCHEMA_VERSION, tasks: inOrder.map(taskReport), stores, unreadable, leftOut };
    },
  };
}
