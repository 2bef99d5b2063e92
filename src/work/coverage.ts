import { type CoverageLoss, coverageLost } from '../lance/index-coverage.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { missingIndexFiles } from '../lance/missing-files.ts';
import { readManifestAt } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { WorkError } from './errors.ts';
import { keyIndexName } from './lost-files.ts';

/** Commits of these kinds change no row. A writer's own commits may leave rows outside of an index; these must not. */
const MOVES_ROWS = new Set(['Rewrite', 'ReserveFragments', 'CreateIndex']);

/**
 * Goes through every commit between two versions and makes sure that none of those that only move rows, and none of
 * `ours`, took rows out of an index. Commits of writers are theirs. A version that is gone cannot be looked at.
 * Throws INDEX_COVERAGE_LOST (permanent).
 */
export async function assertCoverageKept(
  store: ObjectStore,
  from: TableManifest,
  to: TableManifest,
  ours: ReadonlySet<number> = new Set(),
): Promise<void> {
  let before: TableManifest | undefined = from;
  for (let version = from.version + 1; version <= to.version; version += 1) {
    const after: TableManifest | undefined = version === to.version ? to : await readManifestAt(store, version);
    const movesRows = MOVES_ROWS.has(after?.transaction?.operation ?? '');
    if (before && after && (movesRows || ours.has(version))) {
      for (const loss of coverageLost(before, after, movesRows)) {
        // A user drops an index with a commit of this kind.
        if (loss.dropped && after.transaction?.operation === 'CreateIndex' && !ours.has(version)) continue;
        // The key's, once its files are gone, is built anew by IndexId.
        if (await isLostKeyIndex(store, before, loss.name)) continue;
        throw coverageError(store.uri, after, loss);
      }
    }
    before = after;
  }
}

async function isLostKeyIndex(store: ObjectStore, manifest: TableManifest, name: string): Promise<boolean> {
  return name === keyIndexName(manifest) && (await missingIndexFiles(store, manifest)).has(name);
}

function coverageError(target: string, after: TableManifest, { name, rows, dropped }: CoverageLoss): WorkError {
  const what = dropped
    ? `dropped the index ${name}, which covered ${rows} rows`
    : `left ${rows} rows outside of the index ${name} that were inside before`;
  const repair = dropped ? 'Create it again' : 'Send OptimizeIndices for this table';
  return new WorkError(
    'INDEX_COVERAGE_LOST',
    `Version ${after.version} of ${target} (${after.transaction?.operation}) ${what}.`,
    {
      disposition: 'permanent',
      next: `${repair}, and report this: nothing that is done to a table may do so. Until then a search through ${name} may miss these rows.`,
      details: { index: name, rows, version: after.version },
    },
  );
}
