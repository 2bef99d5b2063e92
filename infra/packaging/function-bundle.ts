import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { BUNDLING } from '../../lambdas/bundling.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** Where packages are made: ignored by git, and gone with the next clean install. */
export const PACKAGE_FOLDER = join(REPOSITORY, 'node_modules', '.cache', 'lance-upkeep');

/** The functions, by the names of their files in `lambdas/`. */
export const FUNCTIONS = [
  'sweep',
  'ledger-stream',
  'compact',
  'index-id',
  'merge-wal',
  'optimize-indices',
  'prune',
] as const;

export type FunctionName = (typeof FUNCTIONS)[number];

/** These load LanceDB, which comes from the shared layer; the others never do. */
export const NATIVE_FUNCTIONS: readonly FunctionName[] = ['compact', 'index-id', 'merge-wal', 'optimize-indices'];

const FROM_LAYER = './infra/packaging/lancedb-from-layer.cjs';

/** Bundles one function into a folder of its own and answers that folder. Same sources, same bytes. */
export function bundleFunction(name: FunctionName): string {
  const folder = join(PACKAGE_FOLDER, 'functions', name);
  const { outputFiles } = buildSync({
    ...BUNDLING,
    external: [...BUNDLING.external],
    absWorkingDir: REPOSITORY,
    entryPoints: [join('lambdas', `${name}.ts`)],
    outfile: join(folder, 'index.mjs'),
    write: false,
    legalComments: 'none',
    logLevel: 'warning',
    // The light functions keep it outside: one that reaches for it does not start, and is noticed.
    ...(NATIVE_FUNCTIONS.includes(name) ? { external: [], alias: { '@lancedb/lancedb': FROM_LAYER } } : {}),
  });
  mkdirSync(folder, { recursive: true });
  // Whole at every moment: another build may read it just now.
  const draft = `${folder}.${process.pid}`;
  writeFileSync(draft, outputFiles[0]?.contents ?? '');
  renameSync(draft, join(folder, 'index.mjs'));
  return folder;
}
