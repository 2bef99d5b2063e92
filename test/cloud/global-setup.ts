import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

/** Where the stand-ins of this run answer. */
export interface CloudEndpoints {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly s3: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    cloud: CloudEndpoints;
  }
}

const MAIN = fileURLToPath(new URL('./stand-ins/main.ts', import.meta.url));

/** Starts the local cloud once for all tests of the project, and stops it after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const [line] = await Promise.race([firstLine(child.stdout), gone.then(() => [undefined])]);
  if (line === undefined) throw new Error('The local cloud ended before it was ready.');
  project.provide('cloud', JSON.parse(line) as CloudEndpoints);
  return async () => {
    child.stdin.end();
    await gone;
  };
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<readonly string[]> {
  for await (const line of createInterface({ input: stream })) return [line];
  return [];
}
