import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { renderTasks } from '../render-tasks.ts';
import { locateTarget } from '../roots.ts';
import type { Invoke } from './invoke.ts';

const LARGEST_PAGE = 1_000;

const EXAMPLES = `
Newest first, one page at a time; the hint at the end gives the next page.

Examples:
  lance-upkeep history --limit 20
  lance-upkeep history /data/db/events.lance --json
  lance-upkeep history --jsonl | jq -r 'select(.state == "failed") | .error.code'`;

interface HistoryOptions {
  readonly json?: boolean;
  readonly jsonl?: boolean;
  readonly limit: number;
  readonly after?: string;
}

export function declareHistory(program: Command, invoke: Invoke): void {
  const command = program
    .command('history')
    .description('List tasks, newest first.')
    .argument('[target]', 'only the tasks of this table')
    .addOption(new Option('--json', 'print one JSON object').conflicts('jsonl'))
    .option('--jsonl', 'print one JSON object a line and task')
    .addOption(new Option('--limit <count>', 'tasks on the page').default(50).argParser(pageSize))
    .option('--after <cursor>', 'go on where the page before ended')
    .addHelpText('after', EXAMPLES);
  command.action((named: string | undefined, options: HistoryOptions) =>
    invoke(command, async (invocation) => {
      const configured = invocation.settings().roots;
      const located = named === undefined ? undefined : await locateTarget(named, configured, invocation.context.cwd);
      return invocation.withOperator(located?.roots ?? configured, async (operator) => {
        const report = await operator.history({
          limit: options.limit,
          ...(located === undefined ? {} : { target: located.target }),
          ...(options.after === undefined ? {} : { after: options.after }),
        });
        if (options.json === true) invocation.printJson(report);
        else if (options.jsonl === true) for (const task of report.tasks) invocation.printJson(task);
        else if (report.tasks.length > 0) invocation.print(renderTasks(report.tasks, invocation.paint));
        if (report.tasks.length === 0) invocation.hint('The ledger holds no such task.');
        if (report.next !== null) invocation.hint(`More: lance-upkeep history --after '${report.next}'`);
        return EXIT.fine;
      });
    }),
  );
}

function pageSize(text: string): number {
  const size = Number(text);
  if (!/^\d+$/.test(text) || size < 1 || size > LARGEST_PAGE) {
    throw new InvalidArgumentError(`Give a whole number from 1 to ${LARGEST_PAGE}.`);
  }
  return size;
}
