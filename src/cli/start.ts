import { join } from 'node:path';
import { errorRecord } from '../errors.ts';
import { runCommandLine } from './command-line.ts';
import type { CommandContext } from './context.ts';
import { exitCodeForError } from './exit-codes.ts';
import { createInvocation } from './invocation.ts';
import { choosePaint } from './paint.ts';
import { exitAfterOutput, processContext } from './process-context.ts';
import { renderError } from './render-error.ts';
import { DEMO_FOLDER, startDemo } from './start-demo.ts';

/** `npm start`: the demo without words, else `run <root>... --once` on the folders that are named. */
async function start(words: readonly string[], context: CommandContext): Promise<number> {
  if (words.length > 0) return runCommandLine(['run', ...words, '--once'], context);
  try {
    return await startDemo(createInvocation(context, { ledger: join(DEMO_FOLDER, 'ledger.sqlite') }));
  } catch (error) {
    const paint = choosePaint({ isTTY: context.stderr.isTTY, wanted: true, env: context.env });
    context.stderr.write(renderError(error, { debug: false, paint }));
    return exitCodeForError(errorRecord(error));
  }
}

exitAfterOutput(await start(process.argv.slice(2), processContext()));
