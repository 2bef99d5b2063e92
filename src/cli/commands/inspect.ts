import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { renderInspect } from '../render-tables.ts';
import { locateTarget } from '../roots.ts';
import type { Invoke } from './invoke.ts';

const EXAMPLES = `
Examples:
  lance-upkeep inspect /data/db/events.lance
  lance-upkeep inspect /data/db/events.lance --json | jq .keyIndex`;

export function declareInspect(program: Command, invoke: Invoke): void {
  const command = program
    .command('inspect')
    .description(
      'Show what a table is made of: fragments, key index, waiting MemWAL generations. Changes nothing in it.',
    )
    .argument('<target>', 'path or URI of a table (*.lance)')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((named: string, options: { json?: boolean }) =>
    invoke(command, async (invocation) => {
      const { target, roots } = await locateTarget(named, invocation.settings().roots, invocation.context.cwd);
      return invocation.withOperator(roots, async (operator) => {
        const report = await operator.inspect(target);
        if (options.json === true) invocation.printJson(report);
        else invocation.print(renderInspect(report));
        return EXIT.fine;
      });
    }),
  );
}
