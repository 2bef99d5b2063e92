import type { Command } from 'commander';
import { exitCodeForStatus } from '../exit-codes.ts';
import { renderStatus } from '../render-status.ts';
import { rootsToMaintain } from '../roots.ts';
import type { Invoke } from './invoke.ts';
import { printLeftOut } from './run.ts';

const EXAMPLES = `
Exit code 3 means that a table needs attention.

Examples:
  lance-upkeep status
  lance-upkeep status /data/db --json | jq '.tables[] | select(.attention) | .reasons'`;

export function declareStatus(program: Command, invoke: Invoke): void {
  const command = program
    .command('status')
    .description('List the tables, worst first, and why each one is not running.')
    .argument('[root]', 'only the tables under this root; default: UPKEEP_ROOTS, else all that the ledger knows')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((root: string | undefined, options: { json?: boolean }) =>
    invoke(command, async (invocation) => {
      const { cwd } = invocation.context;
      const configured = invocation.settings().roots;
      const named = root === undefined ? [] : [root];
      const roots = named.length + configured.length === 0 ? [] : await rootsToMaintain(named, configured, cwd);
      return invocation.withOperator(roots, async (operator) => {
        const report = await operator.status(root === undefined ? undefined : roots[0]);
        if (options.json === true) invocation.printJson(report);
        else if (report.tables.length + report.pauses.length > 0)
          invocation.print(renderStatus(report, invocation.paint));
        if (options.json !== true) printLeftOut(invocation, report.leftOut);
        if (report.tables.length === 0) invocation.hint(whyEmpty(roots));
        return exitCodeForStatus(report);
      });
    }),
  );
}

function whyEmpty(roots: readonly string[]): string {
  if (roots.length === 0) {
    return 'Nothing is connected: the ledger knows no table yet and no root was given. Start with "lance-upkeep run <root>".';
  }
  return `The ledger knows no table under ${roots.join(', ')} yet. "lance-upkeep run ${roots[0]}" looks for tables there.`;
}
