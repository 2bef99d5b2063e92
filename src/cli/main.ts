import { runCommandLine } from './command-line.ts';
import { exitAfterOutput, processContext } from './process-context.ts';

exitAfterOutput(await runCommandLine(process.argv.slice(2), processContext()));
