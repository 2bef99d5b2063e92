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

const bundles = new Map<FunctionName, string>();

/** The bundle's folder, made once: each one takes about a second. */
function bundled(name: FunctionName): string {
  const folder = bundles.get(name) ?? bundleFunction(name);
  bundles.set(name, folder);
  return folder;
}

/** The bundle in a folder that no node_modules lies above of. */
function taskFolder(name: FunctionName): string {
  const folder = join(temporaryFolder(), 'task');
  cpSync(bundled(name), folder, { recursive: true });
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

describe('the light functions', () => {
  it.each(LIGHT)('%s is below 2 MB', (name) => {
    const unzipped = unzippedBytes(bundled(name));
    expect(unzipped).toBeGreaterThan(100_000);
    expect(unzipped).toBeLessThan(2_000_000);
  });

  it.each(LIGHT)('%s is ready as a process with no package beside it', async (name) => {
    const { environment } = await createCloudStack();
    // How long that takes is measured by `npm run bench -- start`.
    const script = 'const { handler } = await import(HANDLER); process.stdout.write(typeof handler);';
    expect(await beside(taskFolder(name), script, environment)).toBe('function');
  });
});

describe('the bundles', () => {
  it.each(FUNCTIONS)('of %s have the same bytes each time', (name) => {
    const bytes = (folder: string) => readFileSync(join(folder, 'index.mjs'), 'utf8');
    const first = bytes(bundled(name));
    expect(bytes(bundleFunction(name))).toBe(first);
  });

  it.each(FUNCTIONS)('of %s name no folder of this machine', (name) => {
    expect(readFileSync(join(bundled(name), 'index.mjs'), 'utf8')).not.toContain(process.cwd());
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
    const largest = Math.max(...NATIVE_FUNCTIONS.map((name) => unzippedBytes(bundled(name))));
    const library = join(layer.folder, 'nodejs', 'node_modules', '@lancedb', 'lancedb-linux-x64-gnu');
    expect(statSync(library).isDirectory()).toBe(true);
    expect(unzippedBytes(layer.folder) + largest).toBeLessThan(LAMBDA_LIMIT);
  });

  it('is known by the versions in it: the same again without any work', () => {
    const identity = () => {
      const { ino, ctimeNs } = statSync(layer.folder, { bigint: true });
      return { ino, ctimeNs };
    };
    const before = identity();
    expect(nativeLayer('x86_64')).toEqual(layer);
    expect(identity()).toEqual(before);
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
