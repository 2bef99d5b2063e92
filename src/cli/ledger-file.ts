import { dirname, isAbsolute, join, resolve } from 'node:path';
import { UpkeepError } from '../errors.ts';
import { makeDirectory } from '../storage/make-directory.ts';

/**
 * Where the ledger lives: `--ledger`, else `lance-upkeep/ledger.sqlite` under XDG_STATE_HOME or `~/.local/state`.
 * As the XDG base directory specification says, an XDG_STATE_HOME that is not absolute is ignored.
 */
export function ledgerFileFor(options: {
  readonly flag: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
}): string {
  if (options.flag !== undefined) return resolve(options.cwd, options.flag);
  const stateHome = options.env.XDG_STATE_HOME ?? '';
  const base = isAbsolute(stateHome) ? stateHome : join(options.home, '.local', 'state');
  return join(base, 'lance-upkeep', 'ledger.sqlite');
}

/**
 * Creates the folders that the ledger file needs.
 * @throws LEDGER_NOT_OPENED when they cannot be made.
 */
export async function prepareLedgerFolder(ledgerFile: string): Promise<void> {
  try {
    await makeDirectory(dirname(ledgerFile));
  } catch (error) {
    throw new UpkeepError(`The folder of the ledger ${ledgerFile} cannot be made: ${(error as Error).message}.`, {
      code: 'LEDGER_NOT_OPENED',
      disposition: 'permanent',
      next: 'Name a writable file with --ledger <file>.',
      cause: error,
      details: { ledgerFile },
    });
  }
}
