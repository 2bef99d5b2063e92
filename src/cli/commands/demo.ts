import { resolve } from 'node:path';
import type { Command } from 'commander';
import { SCHEMA_VERSION } from '../../upkeep/reports.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount } from '../format.ts';
import { renderTable } from '../render-table.ts';
import { useOwnTemporaryFolder } from '../temporary-folder.ts';
import type { Invoke } from './invoke.ts';

const EXAMPLES = `
Examples:
  lance-upkeep demo ./demo-db && lance-upkeep run ./demo-db`;

export function declareDemo(program: Command, invoke: Invoke): void {
  const command = program
    .command('demo')
    .description('Make a small fleet of tables with LanceDB, each with another ailment, to try the other commands on.')
    .argument('<dir>', 'a folder that does not exist, is empty, or was made by this command')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((directory: string, options: { json?: boolean }) =>
    invoke(command, async (invocation) => {
      useOwnTemporaryFolder();
      const { buildDemoFleet } = await import('../../demo/fleet.ts');
      const fleet = await buildDemoFleet(resolve(invocation.context.cwd, directory), (name, ailment) =>
        invocation.hint(`making ${name}: ${ailment}`),
      );
      if (options.json === true) {
        const tables = fleet.tables.map(({ name, target, ailment, expected }) => ({
          name,
          target,
          ailment,
          ...expected,
        }));
        invocation.printJson({ schemaVersion: SCHEMA_VERSION, directory: fleet.directory, tables });
      } else {
        const rows = fleet.tables.map((table) => [table.name, formatCount(table.expected.rows), table.ailment]);
        invocation.print(
          renderTable([{ title: 'table' }, { title: 'rows', align: 'right' }, { title: 'ailment' }], rows),
        );
      }
      invocation.hint(`Next: lance-upkeep explain ${fleet.directory}/sessions.lance`);
      invocation.hint(`Then: lance-upkeep run ${fleet.directory}`);
      return EXIT.fine;
    }),
  );
}
