import { execFile } from 'node:child_process';
import { cpSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  bundleFunction,
  FUNCTIONS,
  type FunctionName,
  NATIVE_FUNCTIONS,
} from '../../infra/packaging/function-bundle.ts';
import { nativeLayer } from '../../infra/packaging/native-layer.ts';
import { unzippedBytes } from '../../infra/packaging/package-sizes.ts';
import { createCloudStack } from '../fixtures/cloud-stack.ts';
import { temporaryFolder } from './fixtures/synthesized.ts';

const LIGHT = FUNCTIONS.filter((name) => !NATIVE_FUNCTIONS.includes(name));
const LAMBDA_LIMIT = 250 * 1024 * 1024;
const run = promisify(execFile);

/** The bundle in a folder that no node_modules lies above of. */
function taskFolder(name: FunctionName): string {
  const folder = join(temporaryFolder(), 'task');
  cpSync(bundleFunction(name), folder, { recursive: true });
  return folder;
}

/** Runs a script beside a bundle, which it calls HANDLER. */
async function beside(folder: string, script: string, environment: Record<string, string>): Promise<string> {
  const handler = JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script.replace('HANDLER', handler)], {
    cwd: folder,
    env: { ...environment, TMPDIR: tmpdir() },
  });
  return stdout;
}

const SINCE_START = 'process.stdout.write(String(Date.now() - performance.timeOrigin));';
const READY_WITHIN_MS = 300;
/** What Node alone takes on a machine that has nothing else to do; a busy one gets as much more as that takes longer. */
const BARE_START_MS = 40;
const TRIES = 12;

describe('the light functions', () => {
  it.each(LIGHT)('%s is below 2 MB', (name) => {
    const unzipped = unzippedBytes(bundleFunction(name));
    expect(unzipped).toBeGreaterThan(100_000);
    expect(unzipped).toBeLessThan(2_000_000);
  });

  it.each(LIGHT)('%s is ready within 300 ms as a process', async (name) => {
    const { environment } = await createCloudStack();
    const folder = taskFolder(name);
    const best = { bare: Number.POSITIVE_INFINITY, ready: Number.POSITIVE_INFINITY };
    const allowed = () => READY_WITHIN_MS * Math.max(1, best.bare / BARE_START_MS);
    for (let count = 0; count < TRIES && best.ready >= READY_WITHIN_MS; count += 1) {
      best.bare = Math.min(best.bare, Number(await beside(folder, SINCE_START, environment)));
      best.ready = Math.min(
        best.ready,
        Number(await beside(folder, `await import(HANDLER);${SINCE_START}`, environment)),
      );
    }
    expect(best.ready).toBeLessThan(allowed());
  });
});

describe('the bundles', () => {
  it.each(FUNCTIONS)('of %s have the same bytes each time', (name) => {
    const bytes = () => readFileSync(join(bundleFunction(name), 'index.mjs'), 'utf8');
    expect(bytes()).toBe(bytes());
  });

  it.each(FUNCTIONS)('of %s name no folder of this machine', (name) => {
    expect(readFileSync(join(bundleFunction(name), 'index.mjs'), 'utf8')).not.toContain(process.cwd());
  });
});

describe('the native layer', () => {
  let layer: ReturnType<typeof nativeLayer>;
  /** Away from the repository, so that a package that is missing is not found there. */
  let away: string;

  beforeAll(() => {
    layer = nativeLayer('x86_64');
    away = join(temporaryFolder(), 'opt');
    cpSync(layer.folder, away, { recursive: true });
  });

  it('stays, with the largest function, below what Lambda unzips', () => {
    const largest = Math.max(...NATIVE_FUNCTIONS.map((name) => unzippedBytes(bundleFunction(name))));
    const library = join(layer.folder, 'nodejs', 'node_modules', '@lancedb', 'lancedb-linux-x64-gnu');
    expect(statSync(library).isDirectory()).toBe(true);
    expect(unzippedBytes(layer.folder) + largest).toBeLessThan(LAMBDA_LIMIT);
  });

  it('is known by the versions in it: the same again without any work', () => {
    const start = performance.now();
    expect(nativeLayer('x86_64')).toEqual(layer);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it.each(NATIVE_FUNCTIONS)('gives %s a LanceDB that works, which is not loaded before it is needed', async (name) => {
    const { environment } = await createCloudStack();
    const script = `
      import { readFileSync } from 'node:fs';
      import { createRequire } from 'node:module';
      await import(HANDLER);
      const early = /lancedb[^\\n]*\\.node/.test(readFileSync('/proc/self/maps', 'utf8'));
      const { connect } = createRequire(process.cwd() + '/')('@lancedb/lancedb');
      const connection = await connect(process.cwd() + '/db');
      const table = await connection.createTable('t', [{ id: 1 }, { id: 2 }]);
      process.stdout.write(JSON.stringify({ early, rows: await table.countRows() }));`;
    const NODE_PATH = join(away, 'nodejs', 'node_modules');
    expect(JSON.parse(await beside(taskFolder(name), script, { ...environment, NODE_PATH }))).toEqual({
      early: false,
      rows: 2,
    });
  });

  it('says how to get the binary of an architecture that is not installed', () => {
    expect(() => nativeLayer('arm64')).toThrow(
      expect.objectContaining({ code: 'NATIVE_PACKAGE_MISSING', next: expect.stringContaining('--cpu=arm64') }),
    );
  });
});
