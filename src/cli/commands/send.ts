import { Argument, type Command } from 'commander';
import { UpkeepError } from '../../errors.ts';
import { TASK_KINDS, type TaskKind } from '../../tasks/task.ts';
import type { SendReport } from '../../upkeep/reports.ts';
import { EXIT, exitCodeForTask } from '../exit-codes.ts';
import { renderPrunePreview } from '../render-prune.ts';
import { describeOutcome } from '../render-tasks.ts';
import { locateTarget } from '../roots.ts';
import type { Invoke } from './invoke.ts';

const EXAMPLES = `
Prints the id of the task. A request for a kind and table that is already asked for joins that task.

Examples:
  lance-upkeep send Compact /data/db/events.lance --wait
  lance-upkeep send IndexId /data/db/events.lance --depends-on "$(lance-upkeep send Compact /data/db/events.lance)"
  lance-upkeep send MergeWal /data/db/events.lance --force --wait    do not sit out a cooldown
  lance-upkeep send Prune /data/db/events.lance --dry-run            what would be deleted`;

interface SendOptions {
  readonly dependsOn?: readonly string[];
  readonly force?: boolean;
  readonly wait?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function declareSend(program: Command, invoke: Invoke): void {
  const command = program
    .command('send')
    .description('Ask for one task by hand.')
    .addArgument(new Argument('<kind>', 'what to do').choices(TASK_KINDS))
    .argument('<target>', 'path or URI of a table (*.lance)')
    .option('--depends-on <id...>', 'ids of tasks that have to be done before')
    .option('--force', 'pass a cooldown once')
    .option('--wait', 'return when the task has ended or has to wait for its next try, with its outcome as exit code')
    .option('--dry-run', 'Prune only: print what would be deleted, and change nothing')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((kind: TaskKind, named: string, options: SendOptions) =>
    invoke(command, async (invocation) => {
      const { target, roots } = await locateTarget(named, invocation.settings().roots, invocation.context.cwd);
      if (options.dryRun === true) {
        assertDryRunFits(kind, options);
        return invocation.withOperator(roots, async (operator) => {
          const preview = await operator.previewPrune(target);
          if (options.json === true) invocation.printJson(preview);
          else invocation.print(renderPrunePreview(preview));
          return EXIT.fine;
        });
      }
      const request = { kind, target, dependsOn: options.dependsOn ?? [], force: options.force === true };
      const wait = options.wait === true;
      return invocation.withOperator(roots, async (operator, signal) => {
        const report = await operator.send(request, { wait, signal });
        if (options.json === true) invocation.printJson(report);
        else invocation.print(`${report.taskId}\n`);
        invocation.hint(summary(report, wait));
        return wait ? exitCodeForTask(report.task) : EXIT.fine;
      });
    }),
  );
}

/** Only a Prune can tell beforehand what it will do, and a task that is not asked for neither waits nor passes anything. */
function assertDryRunFits(kind: TaskKind, { wait, force, dependsOn }: SendOptions): void {
  if (kind === 'Prune' && wait !== true && force !== true && dependsOn === undefined) return;
  throw new UpkeepError('--dry-run goes with Prune, and without --wait, --force and --depends-on.', {
    code: 'USAGE',
    disposition: 'permanent',
    next: 'See lance-upkeep send --help',
  });
}

function summary(report: SendReport, wait: boolean): string {
  const { task } = report;
  const joined = report.joined ? 'Joined a task that was there already. ' : '';
  if (!wait) {
    return `${joined}${task.kind} is ${task.state}; "lance-upkeep run" or "send --wait" does the work.`;
  }
  const outcome = describeOutcome(task);
  const again =
    task.state === 'queued' && task.notBefore !== null && task.error !== null
      ? ` It is tried again at ${task.notBefore}; "--force" tries it now.`
      : '';
  return `${joined}${task.kind} is ${task.state}${outcome === '' ? '' : `: ${outcome}`}${again}`;
}
