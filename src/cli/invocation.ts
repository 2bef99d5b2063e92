import { CLOUD_VARIABLES, STACK_VARIABLE, TABLE_VARIABLE } from '../aws/names.ts';
import { loadSettings, type Settings } from '../config.ts';
import { UpkeepError } from '../errors.ts';
import type { Operator, Runner } from '../upkeep/operator.ts';
import type { CommandContext } from './context.ts';
import { isAbort, listenForInterruption } from './interruption.ts';
import { ledgerFileFor, prepareLedgerFolder } from './ledger-file.ts';
import { choosePaint, type Paint } from './paint.ts';
import { createProgressPrinter, type ProgressPrinter } from './progress.ts';

export interface GlobalFlags {
  readonly ledger?: string;
  readonly stack?: string;
  readonly quiet?: boolean;
  /** False with `--no-color`. */
  readonly color?: boolean;
  readonly debug?: boolean;
}

/** One call of one command: its flags and what it may do to the world. */
export interface Invocation {
  readonly context: CommandContext;
  readonly debug: boolean;
  /** For stdout. */
  readonly paint: Paint;
  settings(): Settings;
  /** Data, to stdout. */
  print(text: string): void;
  /** One JSON object on one line, to stdout. */
  printJson(value: unknown): void;
  /** A line for the person, to stderr; nothing with `--quiet`. */
  hint(text: string): void;
  /**
   * Opens the operator of the stack or ledger that was chosen, gives it to `use`, and closes it, which releases its leases.
   * The result is the exit code of `use`, or 130 / 143 when it was interrupted.
   */
  withOperator(roots: readonly string[], use: Use<Operator>): Promise<number>;
  /** The same for what only this machine can do. Throws RUN_ON_STACK when a stack was chosen. */
  withRunner(roots: readonly string[], use: Use<Operator & Runner>): Promise<number>;
}

type Use<Opened> = (opened: Opened, signal: AbortSignal) => Promise<number>;

export function createInvocation(context: CommandContext, flags: GlobalFlags): Invocation {
  const wanted = flags.color !== false;
  const debug = flags.debug === true;
  const progress = createProgressPrinter({
    stderr: context.stderr,
    quiet: flags.quiet === true,
    paint: choosePaint({ isTTY: context.stderr.isTTY, wanted, env: context.env }),
    rewrites: context.stderr.isTTY && context.env.TERM !== 'dumb',
  });
  let parsed: Settings | undefined;
  const settings = () => {
    parsed ??= loadSettings(context.env, CLOUD_VARIABLES);
    return parsed;
  };
  const print = (text: string) => {
    progress.clear();
    context.stdout.write(text);
  };
  return {
    context,
    debug,
    paint: choosePaint({ isTTY: context.stdout.isTTY, wanted, env: context.env }),
    settings,
    print,
    printJson: (value) => print(`${JSON.stringify(value)}\n`),
    hint: progress.hint,
    withOperator: (roots, use) => {
      const choice = { context, flags, settings: settings(), progress };
      return opened(choice, () => openChosen(choice, roots), use);
    },
    withRunner: (roots, use) => {
      const choice = { context, flags, settings: settings(), progress };
      return opened(choice, () => openRunner(choice, roots), use);
    },
  };
}

/** What decides which ledger a command works with. */
interface Choice {
  readonly context: CommandContext;
  readonly flags: GlobalFlags;
  readonly settings: Settings;
  readonly progress: ProgressPrinter;
}

async function opened<Opened extends Pick<Operator, 'close'>>(
  { context, progress }: Choice,
  open: () => Promise<Opened>,
  use: Use<Opened>,
): Promise<number> {
  const interruption = listenForInterruption(context, progress.hint);
  try {
    const one = await open();
    try {
      const code = await use(one, interruption.signal);
      return interruption.exitCode() ?? code;
    } catch (error) {
      const code = interruption.exitCode();
      if (code !== undefined && isAbort(error)) return code;
      throw error;
    } finally {
      await one.close();
    }
  } finally {
    progress.clear();
    interruption.stop();
  }
}

/** A stack that is named, or one whose names are in the environment, unless a ledger on this machine is asked for. */
function isStackChosen({ context: { env }, flags }: Choice): boolean {
  const named = flags.stack !== undefined || env[STACK_VARIABLE] !== undefined || env[TABLE_VARIABLE] !== undefined;
  return flags.ledger === undefined && named;
}

async function openChosen(choice: Choice, roots: readonly string[]): Promise<Operator> {
  if (!isStackChosen(choice)) return openOnThisMachine(choice, roots);
  const { context, flags, settings, progress } = choice;
  const stack = flags.stack ?? context.env[STACK_VARIABLE];
  return context.openStack({
    roots,
    settings,
    environment: context.env,
    onProgress: progress.show,
    ...(stack === undefined ? {} : { stack }),
  });
}

async function openRunner(choice: Choice, roots: readonly string[]): Promise<Operator & Runner> {
  if (!isStackChosen(choice)) return openOnThisMachine(choice, roots);
  throw new UpkeepError('The stack maintains its roots by itself, so there is nothing to run here.', {
    code: 'RUN_ON_STACK',
    disposition: 'permanent',
    next: 'Use "send" to ask for one task, or leave --stack out and give --ledger to maintain other roots from this machine.',
  });
}

async function openOnThisMachine(
  { context, flags, settings, progress }: Choice,
  roots: readonly string[],
): Promise<Operator & Runner> {
  const { env, cwd, home } = context;
  const ledgerFile = ledgerFileFor({ flag: flags.ledger, env, cwd, home });
  await prepareLedgerFolder(ledgerFile);
  return context.openUpkeep({ roots, ledgerFile, settings, onProgress: progress.show });
}
