import { type Command, Option } from 'commander';
import { UpkeepError } from '../../errors.ts';
import type { Operator } from '../../upkeep/operator.ts';
import type { InspectReport, LeftOut, RunReport } from '../../upkeep/reports.ts';
import { count } from '../../wording.ts';
import { exitCodeForRun, hasFailed } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { oneLine } from '../render-table.ts';
import { renderBeforeAfter } from '../render-tables.ts';
import { renderTasks } from '../render-tasks.ts';
import { rootsToMaintain } from '../roots.ts';
import type { Invoke } from './invoke.ts';

const EXAMPLES = `
Examples:
  lance-upkeep run /data/db                        maintain every table in /data/db until nothing is left to do
  lance-upkeep run /data/db /data/other --watch    keep them maintained until Ctrl-C
  UPKEEP_ROOTS=/data/db lance-upkeep run --json | jq '.tasks[] | select(.state == "failed")'`;

interface RunOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function declareRun(program: Command, invoke: Invoke): void {
  const command = program
    .command('run')
    .description('Maintain every table under the roots: compact, index the key, merge the MemWAL.')
    .argument('[root...]', 'folders that hold tables; default: UPKEEP_ROOTS')
    .addOption(new Option('--once', 'stop when nothing is runnable (the default)').conflicts('watch'))
    .option('--watch', 'go on until Ctrl-C')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((roots: string[], options: RunOptions) =>
    invoke(command, (invocation) => runRoots(invocation, roots, options)),
  );
}

async function runRoots(invocation: Invocation, named: readonly string[], options: RunOptions): Promise<number> {
  const roots = await rootsToMaintain(named, invocation.settings().roots, invocation.context.cwd);
  return invocation.withRunner(roots, async (upkeep, signal) => {
    const before = options.json === true ? [] : await inspectAll(upkeep, await upkeep.findTables());
    const report = await upkeep.run({ once: options.watch !== true, signal });
    if (options.json === true) invocation.printJson(report);
    else printRun(invocation, before, report, roots);
    return exitCodeForRun(report);
  });
}

/** The tables as they are; one that cannot be read is left out here and named by the run itself. */
export async function inspectAll(operator: Operator, targets: readonly string[]): Promise<InspectReport[]> {
  const reports: InspectReport[] = [];
  for (const target of targets) {
    try {
      reports.push(await operator.inspect(target));
    } catch (error) {
      if (!(error instanceof UpkeepError)) throw error;
    }
  }
  return reports;
}

function printRun(
  invocation: Invocation,
  before: readonly InspectReport[],
  report: RunReport,
  roots: readonly string[],
): void {
  const { paint } = invocation;
  if (report.tasks.length > 0) invocation.print(`${renderTasks(report.tasks, paint)}\n`);
  if (report.tables.length > 0) invocation.print(renderBeforeAfter(before, report.tables));
  for (const { target, error } of report.unreadable) {
    invocation.print(`${paint.bad('unreadable')} ${target}: ${error.code}: ${oneLine(error.message)}\n`);
  }
  printLeftOut(invocation, report.leftOut);
  invocation.hint(summary(report, roots));
}

/** Names what nobody would miss in a list of what is maintained. */
export function printLeftOut(invocation: Invocation, leftOut: LeftOut): void {
  for (const { target, error } of leftOut) {
    const next = error.next === undefined ? '' : ` ${oneLine(error.next)}`;
    invocation.print(
      `${invocation.paint.dim('left out')} ${target}: ${error.code}: ${oneLine(error.message)}${next}\n`,
    );
  }
}

function summary(report: RunReport, roots: readonly string[]): string {
  const tables = report.tables.length + report.unreadable.length;
  if (tables === 0)
    return `No table was found under ${roots.join(', ')}: a table is a folder *.lance that holds _versions/.`;
  if (report.tasks.length === 0)
    return `${count(tables, 'table')}, nothing was due. "lance-upkeep explain <target>" says why.`;
  const done = report.tasks.filter((task) => task.state === 'done').length;
  const failed = report.tasks.filter(hasFailed).length;
  const open = report.tasks.length - done - failed;
  const counts = [`${done} done`, `${failed} failed`, ...(open > 0 ? [`${open} left for later`] : [])];
  return `${count(tables, 'table')}, ${count(report.tasks.length, 'task')}: ${counts.join(', ')}.`;
}
