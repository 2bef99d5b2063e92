import type { Settings } from '../config.ts';
import { typedErrorIn } from '../errors.ts';
import { discoverTables } from '../fleet/discover.ts';
import { explainStored } from '../fleet/explain.ts';
import type { TableFacts } from '../fleet/facts.ts';
import { observe } from '../fleet/observe.ts';
import { withDataFiles } from '../fleet/observe-files.ts';
import { fromStored } from '../fleet/sweep-ledger.ts';
import { canonicalRoot, canonicalTarget } from '../fleet/targets.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Pause } from '../tasks/pause.ts';
import type { Clock } from '../tasks/ports.ts';
import { inspectReport } from './inspect-report.ts';
import type { Operator } from './operator.ts';
import { pauseMessages, pauseReport } from './pauses.ts';
import type { Planner } from './planner.ts';
import { type LeftOut, SCHEMA_VERSION, type StatusReport, type TaskReport } from './reports.ts';
import { taskReport } from './task-report.ts';

export interface QueryOptions {
  readonly planner: Planner;
  readonly storageFor: (uri: string) => ObjectStore;
  /** Canonical. */
  readonly roots: readonly string[];
  readonly settings: Settings;
  readonly clock: Pick<Clock, 'now'>;
}

/** What an operator reads: the ledger and the tables as they are, changing nothing. */
export interface Queries extends Pick<Operator, 'inspect' | 'status' | 'explain' | 'history'> {
  /** Reads one table now. */
  observe(target: string): Promise<TableFacts>;
}

const STATUS_PAGE = 200;

export function createQueries({ planner, storageFor, roots, settings, clock }: QueryOptions): Queries {
  const { lifecycle } = planner;

  function look(target: string): Promise<TableFacts> {
    return observe(storageFor(target), target, settings, clock.now());
  }

  async function table(
    stored: Parameters<typeof fromStored>[0] & { target: string },
    pauses: readonly Pause[],
  ): Promise<StatusReport['tables'][number]> {
    const { target } = stored;
    const view = await explainStored({ target, facts: fromStored(stored), lifecycle, settings, clock });
    return {
      target,
      facts: view.facts ?? null,
      openTasks: view.openTasks.map(taskReport),
      reasons: [...pauseMessages(pauses, target), ...view.reasons],
      attention: view.attention,
    };
  }

  async function leftOutUnder(root: string): Promise<LeftOut> {
    try {
      return (await discoverTables(storageFor(root))).leftOut;
    } catch (error) {
      // The ledger's view stands without its storage; that this is out of reach, the tables' own facts say.
      if (typedErrorIn(error) === undefined) throw error;
      return [];
    }
  }

  return {
    observe: look,
    async inspect(named) {
      const target = await canonicalTarget(named, roots);
      return inspectReport(await withDataFiles(storageFor(target), await look(target)));
    },
    async status(named) {
      const asked = named === undefined ? roots : [await canonicalRoot(named)];
      const pauses = await lifecycle.pauses();
      const tables: StatusReport['tables'][number][] = [];
      let after: string | undefined;
      do {
        const page = await lifecycle.listFacts({ limit: STATUS_PAGE, ...(after === undefined ? {} : { after }) });
        for (const stored of page.facts) {
          if (asked.length > 0 && !asked.some((root) => stored.target.startsWith(`${root}/`))) continue;
          tables.push(await table(stored, pauses));
        }
        after = page.next ?? undefined;
      } while (after !== undefined);
      return {
        schemaVersion: SCHEMA_VERSION,
        pauses: pauses.map(pauseReport),
        tables: tables.sort((a, b) => Number(b.attention) - Number(a.attention)),
        leftOut: (await Promise.all(asked.map(leftOutUnder))).flat(),
      };
    },
    async explain(named) {
      const target = await canonicalTarget(named, roots);
      const { facts, results, plan, openTasks, reasons } = await planner.explain(target);
      return {
        schemaVersion: SCHEMA_VERSION,
        target,
        facts,
        rules: results,
        plan,
        openTasks: openTasks.map(taskReport),
        reasons: [...pauseMessages(await lifecycle.pauses(), target), ...reasons],
      };
    },
    async history({ target: named, limit, after }) {
      const target = named === undefined ? undefined : await historicalTarget(named, roots);
      const tasks: TaskReport[] = [];
      let next: string | null = after ?? null;
      // A page of the ledger holds at most 100.
      do {
        const page = await lifecycle.listTasks({
          limit: limit - tasks.length,
          ...(target === undefined ? {} : { target }),
          ...(next === null ? {} : { after: next }),
        });
        tasks.push(...page.tasks.map(taskReport));
        next = page.next;
      } while (next !== null && tasks.length < limit);
      return { schemaVersion: SCHEMA_VERSION, tasks, next };
    },
  };
}

/** The history of a table outlives it, so a target that is gone stands as it is written. */
async function historicalTarget(named: string, roots: readonly string[]): Promise<string> {
  try {
    return await canonicalTarget(named, roots);
  } catch (error) {
    if (typedErrorIn(error)?.code !== 'TABLE_NOT_FOUND') throw error;
    return named;
  }
}
