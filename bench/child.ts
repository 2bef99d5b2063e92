import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a measurement in a process of its own brings back. Times in milliseconds, memory in bytes. */
export interface Measured {
  readonly timesMs: readonly number[];
  readonly peakBytes: number;
  readonly facts: Readonly<Record<string, number>>;
}

/** Runs one measurement of `bench/measure.ts` in a fresh process, so that its peak memory is its own. */
export function measureInChild(name: string, words: readonly string[], script = 'measure.ts'): Promise<Measured> {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, name, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, LANCEDB_LOG: 'warn,lance::index=off', MALLOC_MMAP_THRESHOLD_: '1048576' },
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
