import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ALLOCATOR_SETTINGS } from '../src/allocator.ts';

/** What a measurement in a process of its own brings back. Times in milliseconds, memory in bytes. */
export interface Measured {
  readonly timesMs: readonly number[];
  readonly peakBytes: number;
  readonly facts: Readonly<Record<string, number>>;
}

export interface ChildOptions {
  /** File in this folder that knows the measurement; default measure.ts. */
  readonly script?: string;
  /** Added to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs one measurement in a fresh process, so that its peak memory is its own. */
export function measureInChild(
  name: string,
  words: readonly string[],
  { script = 'measure.ts', environment = {} }: ChildOptions = {},
): Promise<Measured> {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, name, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...ALLOCATOR_SETTINGS, ...environment, LANCEDB_LOG: 'warn,lance::index=off' },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as Measured);
      else reject(new Error(`measurement ${name} ended with ${code}`));
    });
  });
}
