import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import type { CommandContext, InterruptionSignal, Output } from './context.ts';
import { useOwnTemporaryFolder } from './temporary-folder.ts';

/** The command line's context of the real process. */
export function processContext(): CommandContext {
  quietNativeLog();
  return {
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    version: packageVersion(),
    // Imported when needed: `--help` and usage errors must not wait for the native library.
    openStack: async (options) => (await import('../aws/open-stack.ts')).openStack(options),
    openUpkeep: async (options) => {
      useOwnTemporaryFolder();
      return (await import('../local/open-upkeep.ts')).openUpkeep(options);
    },
    onInterruption: (handle) => {
      const listener = (signal: NodeJS.Signals) => handle(signal as InterruptionSignal);
      process.on('SIGINT', listener).on('SIGTERM', listener);
      return () => {
        process.off('SIGINT', listener).off('SIGTERM', listener);
      };
    },
    exitNow: (code) => process.exit(code),
  };
}

/**
 * Lance logs an error for each MemWAL index that it optimizes (it has no fields), though nothing is wrong. Real errors come back through
 * the calls. The native library reads this when it is loaded; a LANCEDB_LOG of the user's own stays.
 */
function quietNativeLog(): void {
  process.env.LANCEDB_LOG ??= 'warn,lance::index=off';
}

function outputOf(stream: NodeJS.WriteStream): Output {
  // A reader that has seen enough (`| head`) closes the pipe; the work goes on and ends with its own exit code.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
    write: (text) => {
      stream.write(text);
    },
  };
}

function packageVersion(): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return manifest.version;
}

/** Ends the process with this code once everything written to stdout and stderr has left it. */
export function exitAfterOutput(code: number): void {
  process.stdout.write('', () => {
    process.stderr.write('', () => process.exit(code));
  });
}
