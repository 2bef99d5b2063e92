import { join } from 'node:path';
import type { DemoCheck, DemoFleet } from '../demo/fleet.ts';
import type { ExplainReport, InspectReport, RunReport } from '../upkeep/reports.ts';
import { count, size } from '../wording.ts';
import { inspectAll } from './commands/run.ts';
import { EXIT, exitCodeForRun, hasFailed } from './exit-codes.ts';
import { formatChange, formatCount, formatDuration, tableName } from './format.ts';
import type { Invocation } from './invocation.ts';
import { oneLine } from './render-table.ts';
import { renderBeforeAfter } from './render-tables.ts';
import { describeOutcome } from './render-tasks.ts';
import { useOwnTemporaryFolder } from './temporary-folder.ts';

/** The folder of the demo, in the folder the command was started in. */
export const DEMO_FOLDER = '.demo';

/** Everything known about one demo table once the run is over. */
interface Outcome {
  readonly checkBefore: DemoCheck;
  readonly check: DemoCheck;
  readonly explained: ExplainReport;
  readonly after: InspectReport | undefined;
}

/**
 * Builds the demo fleet, maintains it once, and holds every row and search against what LanceDB reads.
 * Gives 0 only when every table is healed: rows and searches exact, a BTree and every other index over all rows, nothing pending
 * and nothing due.
 */
export async function startDemo(invocation: Invocation): Promise<number> {
  useOwnTemporaryFolder();
  const { buildDemoFleet, checkDemoFleet } = await import('../demo/fleet.ts');
  const began = performance.now();
  const fleet = await buildDemoFleet(join(invocation.context.cwd, DEMO_FOLDER), (name, ailment) =>
    invocation.hint(`making ${name}: ${ailment}`),
  );
  return invocation.withRunner([fleet.directory], async (upkeep, signal) => {
    const targets = fleet.tables.map((table) => table.target);
    const before = await inspectAll(upkeep, targets);
    const checksBefore = await checkDemoFleet(fleet);
    const report = await upkeep.run({ once: true, signal });
    if (signal.aborted) return EXIT.interrupted;
    const checks = await checkDemoFleet(fleet);
    const outcomes = new Map<string, Outcome>();
    for (const [at, target] of targets.entries()) {
      const [check, checkBefore] = [checks[at], checksBefore[at]];
      const after = report.tables.find((table) => table.target === target);
      if (check && checkBefore)
        outcomes.set(target, { checkBefore, check, after, explained: await upkeep.explain(target) });
    }
    printOutcome(invocation, fleet, before, report, outcomes);
    const sick = targets.filter((target) => ailmentsOf(outcomes.get(target)).length > 0);
    const took = formatDuration(performance.now() - began);
    if (sick.length === 0)
      invocation.hint(`\nEvery table is healed, in ${took}. Your own folder: npm start -- <folder>`);
    else invocation.hint(`\n${count(sick.length, 'table')} not healed after ${took}.`);
    return sick.length === 0 ? exitCodeForRun(report) : exitCodeForRun(report) || EXIT.failure;
  });
}

/** What still is wrong with a table; empty when it is healed. */
function ailmentsOf(outcome: Outcome | undefined): string[] {
  if (outcome?.after === undefined) return ['it could not be read'];
  const { check, explained, after } = outcome;
  const { keyIndex, wal } = after;
  const ailments: string[] = [];
  if (!check.everything.exact) ailments.push('LanceDB reads other rows than were written');
  if (!check.baseOnly.exact) ailments.push('the base table alone does not hold the rows that were written');
  if (check.tagged?.exact === false) ailments.push(`the version under the tag ${check.tagged.tag} reads otherwise`);
  if (keyIndex === null || keyIndex.kind !== 'BTree') ailments.push('the key has no BTree');
  else if (keyIndex.uncoveredFragments > 0 || keyIndex.unindexedRows > 0)
    ailments.push('the BTree does not cover all rows');
  if (after.indexes.some(({ rowsOutside }) => rowsOutside > 0)) ailments.push('an index does not cover all rows');
  if (after.hold !== null) ailments.push('a hold is left');
  if (check.searches && check.searches.right < check.searches.asked) ailments.push('searches are answered wrongly');
  if (wal?.shards.some((shard) => shard.pendingGenerations > 0)) ailments.push('generations are still pending');
  for (const { rule, due } of explained.rules) if (due) ailments.push(`${rule} is due`);
  return ailments;
}

function printOutcome(
  invocation: Invocation,
  fleet: DemoFleet,
  before: readonly InspectReport[],
  report: RunReport,
  outcomes: ReadonlyMap<string, Outcome>,
): void {
  const { paint } = invocation;
  const exact = (table: InspectReport): string => {
    const check = outcomes.get(table.target)?.check;
    if (!check?.everything.exact || !check.baseOnly.exact || check.tagged?.exact === false) return 'wrong';
    return check.tagged === null ? 'as written' : `as written, ${check.tagged.tag} too`;
  };
  const versions = (table: InspectReport): string => {
    const was = before.find(({ target }) => target === table.target);
    const counted = formatChange(was && countVersions(was), countVersions(table));
    const bytes = bytesGivenBack(report, table.target);
    return bytes === 0 ? counted : `${counted}, ${size(bytes)} given back`;
  };
  const searches = (table: InspectReport): string => {
    const outcome = outcomes.get(table.target);
    return outcome === undefined
      ? '-'
      : formatChange(describeSearches(outcome.checkBefore), describeSearches(outcome.check));
  };
  const healed = (table: InspectReport) =>
    ailmentsOf(outcomes.get(table.target)).length === 0
      ? { text: 'yes', paint: paint.good }
      : { text: 'no', paint: paint.bad };
  const columns = [
    { title: 'versions', cell: versions },
    { title: 'rows read by LanceDB', cell: exact },
    { title: 'searches', cell: searches },
    { title: 'healed', cell: healed },
  ];
  const inOrder = fleet.tables.flatMap(({ target }) => report.tables.filter((table) => table.target === target));
  invocation.print(`\n${renderBeforeAfter(before, inOrder, columns)}`);
  const failures = [
    ...report.unreadable.map(({ target, error }) => `${tableName(target)}: ${error.code}: ${error.message}`),
    ...report.tasks.filter(hasFailed).map((task) => `${task.kind} ${tableName(task.target)}: ${describeOutcome(task)}`),
  ];
  for (const { target } of fleet.tables) {
    for (const ailment of ailmentsOf(outcomes.get(target))) failures.push(`${tableName(target)}: ${ailment}`);
  }
  if (failures.length > 0) invocation.print(`\nNot healed\n${failures.map((line) => `  ${oneLine(line)}\n`).join('')}`);
  invocation.print(`\nNext\n${fleet.tables.map(({ target }) => nextLine(outcomes.get(target)?.explained)).join('')}`);
}

function countVersions({ versions }: InspectReport): string {
  return versions === null ? '-' : formatCount(versions.count);
}

/** What prunes of this table removed from the disk. */
function bytesGivenBack({ tasks }: RunReport, target: string): number {
  const prunes = tasks.filter((task) => task.kind === 'Prune' && task.target === target);
  return prunes.reduce((sum, { result }) => sum + (result?.metrics.prune_bytes_removed ?? 0), 0);
}

function describeSearches({ searches }: DemoCheck): string {
  if (searches === null) return '-';
  const { asked, right } = searches;
  return right === asked ? 'right' : `${asked - right} of ${asked} wrong`;
}

/** What would be done next on a table, or what it waits for. */
function nextLine(explained: ExplainReport | undefined): string {
  if (explained === undefined) return '';
  const name = tableName(explained.target);
  const planned = explained.plan.map((request) => `${request.kind} (${request.reason ?? 'asked for'})`);
  const shards = explained.facts.wal?.shards ?? [];
  const merged = shards.reduce((total, shard) => total + shard.mergedGenerations, 0);
  const waits =
    merged === 0
      ? 'Nothing is due.'
      : `${count(merged, 'merged generation')} stay for GENERATION_RETENTION, then MergeWal removes them.`;
  return `  ${name.padEnd(12)}${oneLine(planned.length > 0 ? planned.join(', ') : waits)}\n`;
}
