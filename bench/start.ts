import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { bundleFunction, FUNCTIONS, NATIVE_FUNCTIONS } from '../infra/packaging/function-bundle.ts';
import { type CloudNames, environmentOf } from '../src/aws/names.ts';
import { TASK_KINDS } from '../src/tasks/task.ts';
import type { Bench } from './bench.ts';
import { median, milliseconds, table } from './figures.ts';

const STARTS = 15;
const READY_WITHIN_MS = 300;
const SINCE_START = 'process.stdout.write(String(Date.now() - performance.timeOrigin));';

/** How long the functions without LanceDB take as processes, from the start of Node to a handler that can be called. */
export const startBench: Bench = async (folder) => {
  const light = FUNCTIONS.filter((name) => !NATIVE_FUNCTIONS.includes(name));
  const bare = median(await starts(folder, SINCE_START));
  const rows: (readonly string[])[] = [['Node alone', milliseconds(bare)]];
  const lines: string[] = [];
  for (const name of light) {
    const task = join(folder, name);
    cpSync(bundleFunction(name), task, { recursive: true });
    const handler = JSON.stringify(pathToFileURL(join(task, 'index.mjs')).href);
    const ready = median(await starts(task, `await import(${handler});${SINCE_START}`));
    rows.push([name, milliseconds(ready)]);
    const met = ready <= READY_WITHIN_MS ? 'met' : '**missed**';
    lines.push(`- ${name}: ${milliseconds(ready)}, target at most ${READY_WITHIN_MS} ms: ${met}.`);
  }
  return [
    `The functions that need no LanceDB, each as a process of its own, median of ${STARTS} starts: from the start of Node to a handler that can be called.`,
    table(['process', 'ready after'], rows),
    ...lines,
  ].join('\n\n');
};

/** Names that nothing answers to: a start calls no service. */
const environment = {
  ...environmentOf({
    table: 'ledger',
    queues: Object.fromEntries(
      TASK_KINDS.map((kind) => [kind, { url: 'http://127.0.0.1:9/q', deadLetters: 'http://127.0.0.1:9/d' }]),
    ) as CloudNames['queues'],
  }),
  PATH: process.env.PATH ?? '',
  UPKEEP_ROOTS: 's3://bucket/db',
  AWS_REGION: 'us-east-1',
};

async function starts(folder: string, script: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let count = 0; count < STARTS; count += 1) {
    const words = ['--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder, env: environment });
    times.push(Number(stdout));
  }
  return times;
}
