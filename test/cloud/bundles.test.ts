import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { BUNDLING } from '../../lambdas/bundling.ts';
import { createCloudStack } from '../fixtures/cloud-stack.ts';

const LIGHT = ['sweep', 'ledger-stream'] as const;
const HEAVY = ['compact', 'index-id', 'merge-wal', 'optimize-indices'] as const;

async function bundle(name: string) {
  const entry = fileURLToPath(new URL(`../../lambdas/${name}.ts`, import.meta.url));
  const { outputFiles, metafile } = await build({
    ...BUNDLING,
    entryPoints: [entry],
    outfile: `${name}.mjs`,
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const imports = Object.values(metafile?.outputs ?? {}).flatMap((output) => output.imports.map(({ path }) => path));
  return { code: outputFiles?.[0]?.contents ?? new Uint8Array(), imports };
}

describe('the bundles of the functions', () => {
  it.each(LIGHT)('%s is below 2 MB and asks for no native library', async (name) => {
    const { code, imports } = await bundle(name);

    expect(code.length).toBeGreaterThan(100_000);
    expect(code.length).toBeLessThan(2_000_000);
    expect(imports.filter((path) => !path.startsWith('node:') && /lancedb|arrow/.test(path))).toEqual([]);
  });

  it.each(HEAVY)('%s leaves LanceDB and Arrow to its layer', async (name) => {
    const { code, imports } = await bundle(name);

    expect(code.length).toBeLessThan(3_000_000);
    expect(imports).toContain('@lancedb/lancedb');
  });

  it('of the sweep runs as a module of its own, far from any node_modules', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'upkeep-bundle-'));
    try {
      const stack = await createCloudStack();
      const file = join(folder, 'sweep.mjs');
      await writeFile(file, (await bundle('sweep')).code);
      const script = `
        const { handler } = await import(${JSON.stringify(pathToFileURL(file).href)});
        const context = { getRemainingTimeInMillis: () => 60000 };
        process.stderr.write(JSON.stringify([await handler({ sweep: 'recover' }, context), await handler({ sweep: 'all' }, context)]));`;
      const { stderr } = await promisify(execFile)(
        process.execPath,
        ['--no-warnings', '--input-type=module', '-e', script],
        {
          cwd: folder,
          env: { PATH: process.env.PATH, ...stack.environment },
        },
      );

      expect(JSON.parse(stderr)).toEqual([
        { endedAttempts: 0, woken: 0, rechecked: 0, notified: 0, errors: [] },
        { tables: 0, asked: 0, failed: 0, skipped: 0 },
      ]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
