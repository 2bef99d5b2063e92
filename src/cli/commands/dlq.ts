import { type Command, InvalidArgumentError, Option } from 'commander';
import { UpkeepError } from '../../errors.ts';
import { TASK_KINDS, type TaskKind } from '../../tasks/task.ts';
import type { Operator } from '../../upkeep/operator.ts';
import type { DeadLetterReport } from '../../upkeep/reports.ts';
import { EXIT } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { oneLine, renderTable } from '../render-table.ts';
import type { Invoke } from './invoke.ts';

const DEFAULT_LIMIT = 50;
/** A dead letter is looked for among so many. */
const LARGEST_LIMIT = 1_000;

const COLUMNS = [{ title: 'id' }, { title: 'queue' }, { title: 'since' }, { title: 'code' }, { title: 'reason' }];

const EXAMPLES = `
A dead letter is a message that could never become a task, with the reason. "redrive" sends it again under its original id, "delete" removes it.
Exit code 3 means that there are dead letters.

Examples:
  lance-upkeep dlq list --stack upkeep
  lance-upkeep dlq show 5f2c… --stack upkeep
  lance-upkeep dlq redrive 5f2c… --stack upkeep
  lance-upkeep dlq delete 5f2c… --stack upkeep`;

interface ListOptions {
  readonly queue?: TaskKind;
  readonly limit: number;
  readonly json?: boolean;
}

export function declareDlq(program: Command, invoke: Invoke): void {
  const dlq = program
    .command('dlq')
    .description('Look at dead letters and send them again.')
    .addHelpText('after', EXAMPLES);
  const list = dlq
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(new Option('--queue <kind>', 'only of this queue').choices(TASK_KINDS))
    .addOption(new Option('--limit <count>', 'at most so many').default(DEFAULT_LIMIT).argParser(count))
    .option('--json', 'print one JSON object');
  list.action((options: ListOptions) => invoke(list, (invocation) => listDeadLetters(invocation, options)));
  const show = dlq
    .command('show')
    .description('Show one dead letter with its body.')
    .argument('<id>', 'message id, as "dlq list" shows it')
    .option('--json', 'print one JSON object');
  show.action((id: string, options: { json?: boolean }) =>
    invoke(show, (invocation) =>
      withOperator(invocation, (operator) => showDeadLetter(invocation, operator, id, options.json === true)),
    ),
  );
  const redrive = dlq
    .command('redrive')
    .description('Send a dead letter to its queue again.')
    .argument('<id>', 'message id, as "dlq list" shows it');
  const remove = dlq
    .command('delete')
    .description('Remove a dead letter for good.')
    .argument('<id>', 'message id, as "dlq list" shows it');
  remove.action((id: string) =>
    invoke(remove, (invocation) =>
      withOperator(invocation, async (operator) => {
        if (!(await operator.deleteDeadLetter(id))) throw deadLetterNotFound(id);
        invocation.hint(`Removed ${id}.`);
        return EXIT.fine;
      }),
    ),
  );
  redrive.action((id: string) =>
    invoke(redrive, (invocation) =>
      withOperator(invocation, async (operator) => {
        if (!(await operator.redrive(id))) throw deadLetterNotFound(id);
        invocation.hint(`Sent ${id} to its queue again.`);
        return EXIT.fine;
      }),
    ),
  );
}

function withOperator(invocation: Invocation, use: (operator: Operator) => Promise<number>): Promise<number> {
  return invocation.withOperator(invocation.settings().roots, use);
}

function listDeadLetters(invocation: Invocation, options: ListOptions): Promise<number> {
  return withOperator(invocation, async (operator) => {
    const { queue, limit } = options;
    const report = await operator.deadLetters({ limit, ...(queue === undefined ? {} : { queue }) });
    if (options.json === true) invocation.printJson(report);
    else if (report.deadLetters.length > 0) invocation.print(render(report));
    if (report.deadLetters.length === 0) invocation.hint('There are no dead letters.');
    return report.deadLetters.length > 0 ? EXIT.attention : EXIT.fine;
  });
}

async function showDeadLetter(invocation: Invocation, operator: Operator, id: string, json: boolean): Promise<number> {
  const { schemaVersion, deadLetters } = await operator.deadLetters({ limit: LARGEST_LIMIT });
  const deadLetter = deadLetters.find(({ messageId }) => messageId === id);
  if (!deadLetter) throw deadLetterNotFound(id);
  if (json) invocation.printJson({ schemaVersion, ...deadLetter });
  else {
    const { queue, code, message, deadAt, body } = deadLetter;
    invocation.print(`${id}  ${queue}  ${deadAt}\n${code}: ${oneLine(message)}\n${body}\n`);
  }
  return EXIT.fine;
}

function render({ deadLetters }: DeadLetterReport): string {
  const rows = deadLetters.map(({ messageId, queue, deadAt, code, message }) => [
    messageId,
    queue,
    deadAt,
    code,
    oneLine(message),
  ]);
  return renderTable(COLUMNS, rows);
}

function deadLetterNotFound(id: string): UpkeepError {
  return new UpkeepError(`There is no dead letter ${id}.`, {
    code: 'DEAD_LETTER_NOT_FOUND',
    disposition: 'permanent',
    next: '"lance-upkeep dlq list" shows those that there are.',
  });
}

function count(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= LARGEST_LIMIT) return value;
  throw new InvalidArgumentError(`Give a whole number from 1 to ${LARGEST_LIMIT}.`);
}
