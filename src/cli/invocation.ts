import { CLOUD_VARIABLES, STACK_VARIABLE, TABLE_VARIABLE } from '../aws/names.ts';
import { loadSettings, type Settings } from '../config.ts';
import type { Plane } from '../plane.ts';
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
   * Opens the plane, gives it to `use`, and closes it, which releases its leases. The result is the exit code of `use`,
   * or 130 / 143 when it was interrupted.
   */
  withPlane(roots: readonly string[], use: (plane: Plane, signal: AbortSignal) => Promise<number>): Promise<number>;
}

export function createInvocation(context: CommandContext, flags: GlobalFlags): Invocation {
  const wanted = flags.color !== false;
  const debug = flags.debug === true;
  const progress = createProgressPrinter({
    stderr: context.stderr,
    quiet: flags.quiet === true,
    paint: choosePaint({ isTTY: context.stderr.isTTY, wanted, env: context.env }),
    rewrites: context.stderr.isTTY && context.env.TERM !== 'dumb',
  });
  const settings = () => loadSettings(context.env, CLOUD_VARIABLES);
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
    withPlane: (roots, use) => usePlane({ context, flags, settings: settings(), progress }, roots, use),
  };
}

interface PlaneParts {
  readonly context: CommandContext;
  readonly flags: GlobalFlags;
  readonly settings: Settings;
  readonly progress: ProgressPrinter;
}

async function usePlane(
  { context, flags, settings, progress }: PlaneParts,
  roots: readonly string[],
  use: (plane: Plane, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const interruption = listenForInterruption(context, progress.hint);
  try {
    const plane = await openChosenPlane({ context, flags, settings, progress }, roots);
    try {
      const code = await use(plane, interruption.signal);
      return interruption.exitCode() ?? code;
    } catch (error) {
      const code = interruption.exitCode();
      if (code !== undefined && isAbort(error)) return code;
      throw error;
    } finally {
      await plane.close();
    }
  } finally {
    progress.clear();
    interruption.stop();
  }
}

/** A stack that is named, or one whose names are in the environment, unless a ledger on this machine is asked for. */
async function openChosenPlane(
  { context, flags, settings, progress }: PlaneParts,
  roots: readonly string[],
): Promise<Plane> {
  const { env, cwd, home } = context;
  const stack = flags.stack ?? env[STACK_VARIABLE];
  const onProgress = progress.show;
  if (flags.ledger === undefined && (stack !== undefined || env[TABLE_VARIABLE] !== undefined)) {
    return context.openStackPlane({
      roots,
      settings,
      environment: env,
      onProgress,
      ...(stack === undefined ? {} : { stack }),
    });
  }
  const ledgerFile = ledgerFileFor({ flag: flags.ledger, env, cwd, home });
  await prepareLedgerFolder(ledgerFile);
  return context.openPlane({ roots, ledgerFile, settings, onProgress });
}
