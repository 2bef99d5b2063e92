import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

/** One command that ends by itself fills Node's cache of compiled sources: a process that is killed leaves nothing there. */
export async function setup(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'warm-start-'));
  await promisify(execFile)(process.execPath, ['--no-warnings', MAIN, 'status'], {
    env: { ...process.env, HOME: home },
  });
  await rm(home, { recursive: true });
}
