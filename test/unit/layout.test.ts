import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  backwardArrows,
  circles,
  importGraph,
  importsOf,
  type SourceFile,
  shapeless,
} from '../fixtures/layout-rules.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

function filesUnder(...folders: string[]): SourceFile[] {
  return folders.flatMap((folder) => {
    const absolute = join(repository, folder);
    if (!existsSync(absolute)) return [];
    return readdirSync(absolute, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mts|mjs)$/.test(entry.name))
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return { path: relative(repository, path).split(sep).join('/'), text: readFileSync(path, 'utf8') };
      });
  });
}

const sources = filesUnder('src', 'lambdas', 'infra');

/** The path of a file of ours; packages have none. */
function ourFile(path: string): string | undefined {
  return path.endsWith('.ts') ? path : undefined;
}

function file(path: string, ...imports: string[]): SourceFile {
  return { path, text: imports.map((one) => `import { x } from '${one}';`).join('\n') };
}

describe('the layout', () => {
  it('is read from the real files: every relative import names one of them', () => {
    const known = new Set(sources.map(({ path }) => path));
    const relatives = sources.flatMap(importsOf).filter(({ to }) => /^(src|lambdas|infra)\//.test(to));
    expect(relatives.length).toBeGreaterThan(50);
    expect(relatives.filter(({ to }) => !known.has(to))).toEqual([]);
  });

  it('has no arrow that points backwards', () => {
    expect(backwardArrows(sources)).toEqual([]);
  });

  it('has no circles, neither between its parts nor between its files', () => {
    const parts = importGraph(sources);
    const lines = [...parts].map(([part, imports]) => `  ${part.padEnd(10)}-> ${[...imports].sort().join(', ')}`);
    process.stdout.write(`\nWhat each part imports:\n${lines.sort().join('\n')}\n`);

    expect(circles(parts)).toEqual([]);
    expect(circles(importGraph(sources, ourFile))).toEqual([]);
  });

  it('has names that say what a file holds, and no file above 300 lines', () => {
    expect(shapeless([...sources, ...filesUnder('test', 'bench', 'bin')])).toEqual([]);
  });
});

describe('the rules of the layout', () => {
  it.each([
    ['src/lance/wire.ts', '../tasks/task.ts'],
    ['src/lance/wire.ts', '../config.ts'],
    ['src/lance/wire.ts', 'node:fs/promises'],
    ['src/lance/wire.ts', '@lancedb/lancedb'],
    ['src/lance/wire.ts', '@aws-sdk/client-s3'],
    ['src/tasks/claim.ts', '../lance/manifest.ts'],
    ['src/tasks/claim.ts', '../fleet/facts.ts'],
    ['src/tasks/claim.ts', 'node:sqlite'],
    ['src/fleet/plan.ts', '../work/compact.ts'],
    ['src/fleet/plan.ts', 'node:fs'],
    ['src/fleet/plan.ts', '@lancedb/lancedb'],
    ['src/work/compact.ts', '../fleet/observe.ts'],
    ['src/work/compact.ts', '../storage/file-object-store.ts'],
    ['src/local/sqlite-queue.ts', '../fleet/sweep.ts'],
    ['src/upkeep/worker-runtime.ts', '../local/open-upkeep.ts'],
    ['src/storage/s3-object-store.ts', '../aws/clients.ts'],
    ['infra/app.ts', '../src/local/open-upkeep.ts'],
    ['src/errors.ts', './config.ts'],
    ['src/cli/main.ts', '../work/compact.ts'],
    ['src/elsewhere/x.ts', '../errors.ts'],
    ['lambdas/compact.ts', '../src/local/open-upkeep.ts'],
  ])('refuse %s importing %s', (path, imported) => {
    expect(backwardArrows([file(path, imported)])).toHaveLength(1);
  });

  it.each([
    ['src/lance/wire.ts', '../errors.ts'],
    ['src/fleet/targets.ts', 'node:fs/promises'],
    ['src/local/open-upkeep.ts', '../upkeep/worker-runtime.ts'],
    ['src/local/sqlite-queue.ts', 'node:sqlite'],
    ['src/work/merge-wal.ts', 'apache-arrow'],
    ['src/cli/main.ts', 'commander'],
    ['lambdas/sweep.ts', '../src/aws/open-planner.ts'],
  ])('allow %s importing %s', (path, imported) => {
    expect(backwardArrows([file(path, imported)])).toEqual([]);
  });

  it('see imports in every form, and not those in comments', () => {
    const text = [
      "import type { A } from './a.ts';",
      "import {\n  b,\n  type B,\n} from './b.ts';",
      "export * from './c.ts';",
      "export type { D } from './d.ts';",
      "import './e.ts';",
      "const f = await import('./f.ts');",
      "// import { g } from './g.ts';",
      "/** import { h } from './h.ts'; */",
    ].join('\n');
    expect(importsOf({ path: 'src/x/y.ts', text }).map(({ to, typeOnly }) => [to, typeOnly])).toEqual([
      ['src/x/a.ts', true],
      ['src/x/b.ts', false],
      ['src/x/c.ts', false],
      ['src/x/d.ts', true],
      ['src/x/e.ts', false],
      ['src/x/f.ts', false],
    ]);
  });

  it('see a circle once, through any number of parts', () => {
    const files = [
      file('src/work/a.ts', '../lance/b.ts'),
      file('src/lance/b.ts', '../tasks/c.ts'),
      file('src/tasks/c.ts', '../work/a.ts'),
      file('src/cli/d.ts', '../work/a.ts'),
    ];
    expect(circles(importGraph(files))).toEqual(['lance -> tasks -> work -> lance']);
  });

  it('refuse names that say nothing and files that are too long', () => {
    expect(shapeless([file('src/work/string-utils.ts')])).toHaveLength(1);
    expect(shapeless([file('src/helpers/x.ts')])).toHaveLength(1);
    expect(shapeless([{ path: 'src/work/long.ts', text: 'x\n'.repeat(301) }])).toHaveLength(1);
    expect(shapeless([{ path: 'src/work/commonplace.ts', text: 'x\n'.repeat(300) }])).toEqual([]);
  });
});
