import { errorRecord, UpkeepError } from '../errors.ts';
import { discoverTables } from '../fleet/discover.ts';
import type { TableFacts } from '../fleet/facts.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Lifecycle } from '../tasks/api.ts';
import type { Task } from '../tasks/task.ts';
import { inspectReport } from './inspect-report.ts';
import { type InspectReport, type RunReport, SCHEMA_VERSION } from './reports.ts';
import { taskReport } from './task-report.ts';

/** Tasks named in the report of a run that never ends. */
const MOST_REPORTED = 1000;

/** The tasks that this process admitted or worked on, oldest first; only the newest are kept. */
export class RecentTasks {
  readonly #ids = new Set<string>();

  note(taskId: string): void {
    this.#ids.delete(taskId);
    this.#ids.add(taskId);
    if (this.#ids.size > MOST_REPORTED) this.#ids.delete(this.#ids.values().next().value as string);
  }

  ids(): Iterable<string> {
    return this.#ids;
  }
}

export interface RunReporterOptions {
  readonly lifecycle: Pick<Lifecycle, 'getTask' | 'openTasks'>;
  readonly observe: (target: string) => Promise<TableFacts>;
  readonly storageFor: (uri: string) => ObjectStore;
  readonly roots: readonly string[];
  readonly recent: RecentTasks;
}

/** What a run has to tell at its end. */
export interface RunReporter {
  knownTables(): Promise<{ readonly targets: readonly string[] } & Pick<RunReport, 'leftOut' | 'unreadable'>>;
  report(): Promise<RunReport>;
}

export function createRunReporter({ lifecycle, observe, storageFor, roots, recent }: RunReporterOptions): RunReporter {
  async function knownTables() {
    const found = await Promise.all(roots.map((root) => discoverTables(storageFor(root))));
    return {
      targets: [...new Set(found.flatMap(({ targets }) => targets))].sort(),
      unreadable: found.flatMap(({ failed }) => failed),
      leftOut: found.flatMap(({ leftOut }) => leftOut),
    };
  }

  /** What this run worked on, and what is still open on its tables: a ledger may hold other roots' tasks, too. */
  async function reportedTasks(targets: readonly string[]): Promise<Task[]> {
    const tasks = new Map<string, Task>();
    for (const target of targets) for (const task of await lifecycle.openTasks(target)) tasks.set(task.id, task);
    for (const id of recent.ids()) {
      const task = await lifecycle.getTask(id);
      if (task && roots.some((root) => task.target.startsWith(`${root}/`))) tasks.set(task.id, task);
    }
    return [...tasks.values()];
  }

  return {
    knownTables,
    async report() {
      const tables: InspectReport[] = [];
      const { targets, unreadable, leftOut } = await knownTables();
      for (const target of targets) {
        try {
          const facts = await observe(target);
          tables.push(inspectReport(facts));
          if (facts.error) unreadable.push({ target, error: facts.error });
        } catch (error) {
          if (!(error instanceof UpkeepError)) throw error;
          unreadable.push({ target, error: errorRecord(error) });
        }
      }
      const tasks = await reportedTasks(targets);
      const inOrder = tasks.sort((a, b) => a.createdAt - b.createdAt);
      return { schemaVersion: SCHEMA_VERSION, tasks: inOrder.map(taskReport), tables, unreadable, leftOut };
    },
  };
}
