import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { UpkeepError } from '../../errors.ts';
import { EXIT } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { locateTarget, rootsToMaintain } from '../roots.ts';
import type { Invoke } from './invoke.ts';

const EXAMPLES = `
What runs goes on to its end; nothing new begins. "--force" does not pass a pause. Sweeps go on looking and asking.

Examples:
  lance-upkeep pause /data/db/events.lance --reason "restoring a backup"
  lance-upkeep pause s3://lake/tables --stack upkeep --reason "migration"
  lance-upkeep resume s3://lake/tables --stack upkeep
  lance-upkeep pause --all --reason "incident 12" && lance-upkeep status && lance-upkeep resume --all`;

interface ScopeOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

interface PauseOptions extends ScopeOptions {
  readonly reason: string;
  readonly by?: string;
}

export function declarePause(program: Command, invoke: Invoke): void {
  const command = program
    .command('pause')
    .description('Begin nothing new on a table, below a root, or at all.')
    .argument('[table or root]', 'what to pause; everything with --all')
    .option('--all', 'pause everything that this ledger or stack maintains')
    .requiredOption('--reason <text>', 'why; "status" shows it')
    .option('--by <name>', 'who; default: your user and machine')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  command.action((named: string | undefined, options: PauseOptions) =>
    invoke(command, async (invocation) => {
      const { scope, roots } = await locateScope(invocation, named, options);
      return invocation.withOperator(roots, async (operator) => {
        const by = options.by ?? `${userInfo().username}@${hostname()}`;
        const pause = await operator.pause({ by, reason: options.reason, ...(scope === undefined ? {} : { scope }) });
        if (options.json === true) invocation.printJson(pause);
        invocation.hint(`Paused ${pause.scope ?? 'everything'}. What runs goes on to its end.`);
        return EXIT.fine;
      });
    }),
  );
}

export function declareResume(program: Command, invoke: Invoke): void {
  const command = program
    .command('resume')
    .description('Take a pause back; what waited begins within two minutes.')
    .argument('[table or root]', 'what was paused, as "status" shows it')
    .option('--all', 'the pause of everything')
    .addHelpText('after', EXAMPLES);
  command.action((named: string | undefined, options: ScopeOptions) =>
    invoke(command, async (invocation) => {
      const { scope, roots } = await locateScope(invocation, named, options);
      return invocation.withOperator(roots, async (operator) => {
        await operator.resume(scope === undefined ? {} : { scope });
        invocation.hint(`Resumed ${scope ?? 'everything'}.`);
        return EXIT.fine;
      });
    }),
  );
}

/** Everything only when that is said: a variable that is not set must not stop a whole fleet. */
async function locateScope(invocation: Invocation, named: string | undefined, { all }: ScopeOptions) {
  const configured = invocation.settings().roots;
  const { cwd } = invocation.context;
  if ((named === undefined || named.trim() === '') !== (all === true)) {
    throw new UpkeepError('Name a table or a root, or give --all; not both.', {
      code: 'USAGE',
      disposition: 'permanent',
      next: 'lance-upkeep pause --help has examples.',
    });
  }
  if (named === undefined || named.trim() === '') return { scope: undefined, roots: configured };
  if (/\.lance\/*$/.test(named)) {
    const { target, roots } = await locateTarget(named, configured, cwd);
    return { scope: target, roots };
  }
  const [scope] = await rootsToMaintain([named], configured, cwd);
  return { scope, roots: configured };
}
