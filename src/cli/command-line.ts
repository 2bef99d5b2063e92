import { Command, CommanderError } from 'commander';
import { errorRecord, UpkeepError } from '../errors.ts';
import { declareDemo } from './commands/demo.ts';
import { declareDlq } from './commands/dlq.ts';
import { declareExplain } from './commands/explain.ts';
import { declareHistory } from './commands/history.ts';
import { declareInspect } from './commands/inspect.ts';
import type { Invoke } from './commands/invoke.ts';
import { declarePause, declareResume } from './commands/pause.ts';
import { declareRun } from './commands/run.ts';
import { declareSend } from './commands/send.ts';
import { declareStatus } from './commands/status.ts';
import type { CommandContext } from './context.ts';
import { EXIT, exitCodeForError } from './exit-codes.ts';
import { createInvocation, type GlobalFlags } from './invocation.ts';
import { choosePaint } from './paint.ts';
import { errorJson, renderError } from './render-error.ts';

const EXAMPLES = `
Exit codes: 0 fine, 1 failure, 2 usage, 3 attention needed, 4 partly done, 5 not found, 75 try again, 130 on Ctrl-C, 143 on SIGTERM.
Settings come from the environment; docs/settings.md lists them.

Examples:
  lance-upkeep demo ./demo-db                       make a few tables to try it on
  lance-upkeep run ./demo-db                        maintain them
  lance-upkeep explain ./demo-db/sessions.lance     why something is, or is not, done
  lance-upkeep status                               all tables, worst first`;

/**
 * Runs one command line (without the program's name) to its end and gives its exit code; errors are printed, never thrown.
 * @example await runCommandLine(['inspect', '/data/db/events.lance', '--json'], context) // 0
 */
export async function runCommandLine(words: readonly string[], context: CommandContext): Promise<number> {
  let code: number = EXIT.fine;
  const program = createProgram(context, async (command, body) => {
    code = await body(createInvocation(context, command.optsWithGlobals<GlobalFlags>()));
  });
  try {
    if (words.length === 0) {
      context.stderr.write(program.helpInformation());
      throw usageError('No command was given.', 'Choose one of the commands above.');
    }
    await program.parseAsync([...words], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.fine;
    return report(error instanceof CommanderError ? fromCommander(error, words) : error, words, context);
  }
}

function createProgram(context: CommandContext, invoke: Invoke): Command {
  const program = new Command('lance-upkeep')
    .description('Upkeep for LanceDB tables: compaction, a covering BTree on the key, MemWAL merge.')
    .version(context.version, '--version', 'print the version')
    .option(
      '--ledger <file>',
      'the ledger file; default: lance-upkeep/ledger.sqlite under XDG_STATE_HOME or ~/.local/state',
    )
    .option(
      '--stack <name>',
      'work with a deployed stack instead; default: UPKEEP_STACK, or the names in the environment (docs/aws.md)',
    )
    .option('--quiet', 'no progress and no hints on stderr')
    .option('--no-color', 'no colour (NO_COLOR and TERM=dumb do the same)')
    .option('--debug', 'show stacks of errors')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      // Errors are printed by `report`, in the same form as all others.
      outputError: () => undefined,
      getOutHelpWidth: () => context.stdout.columns ?? 100,
      getErrHelpWidth: () => context.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('after', EXAMPLES);
  for (const declare of [
    declareRun,
    declareInspect,
    declareStatus,
    declareExplain,
    declareSend,
    declareHistory,
    declarePause,
    declareResume,
    declareDlq,
    declareDemo,
  ]) {
    declare(program, invoke);
  }
  return program;
}

function usageError(message: string, next: string): UpkeepError {
  return new UpkeepError(message, { code: 'USAGE', disposition: 'permanent', next });
}

function fromCommander(error: CommanderError, words: readonly string[]): UpkeepError {
  const sentence = error.message.replace(/^error: /, '').replace(/\n/g, ' ');
  const command = words.find((word) => !word.startsWith('-')) ?? '';
  const known = ['run', 'inspect', 'status', 'explain', 'send', 'history', 'pause', 'resume', 'dlq', 'demo'].includes(
    command,
  );
  return usageError(
    sentence.charAt(0).toUpperCase() + sentence.slice(1),
    `See lance-upkeep ${known ? `${command} ` : ''}--help`,
  );
}

/** The error as an object on stdout for a script that asked for JSON, else as a screen on stderr. */
function report(error: unknown, words: readonly string[], context: CommandContext): number {
  // The words are looked at themselves, since a command line that does not parse has no options.
  const debug = words.includes('--debug');
  const asJson = words.includes('--json') || words.includes('--jsonl');
  const paint = choosePaint({ isTTY: context.stderr.isTTY, wanted: !words.includes('--no-color'), env: context.env });
  if (asJson) context.stdout.write(`${JSON.stringify(errorJson(error))}\n`);
  if (!asJson || debug) context.stderr.write(renderError(error, { debug, paint }));
  return exitCodeForError(errorRecord(error));
}
