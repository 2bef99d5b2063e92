import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { renderExplain } from '../render-explain.ts';
import { locateTarget } from '../roots.ts';
import type { Invoke } from './invoke.ts';

const EXAMPLES = `
Examples:
  lance-upkeep explain /data/db/events.lance
  lance-upkeep explain /data/db/events.lance --json | jq '.rules[] | select(.due)'`;

export function declareExplain(program: Command, invoke: Invoke): void {
  const command = program
    .command('explain')
    .description(
      "Show each rule with its threshold and this table's value, what would be done, and why it is not running.",
    )
    .argument('<target>', 'path or URI of a table (*.lance)')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((named: string, options: { json?: boolean }) =>
    invoke(command, async (invocation) => {
      const { target, roots } = await locateTarget(named, invocation.settings().roots, invocation.context.cwd);
      return invocation.withOperator(roots, async (operator) => {
        const report = await operator.explain(target);
        if (options.json === true) invocation.printJson(report);
        else invocation.print(renderExplain(report, invocation.paint));
        return EXIT.fine;
      });
    }),
  );
}
