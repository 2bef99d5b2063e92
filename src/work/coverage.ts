import { type CoverageLoss, coverageLost } from '../lance/index-coverage.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readManifestAt } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { WorkError } from './errors.ts';

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
      const [loss] = coverageLost(before, after, movesRows);
      if (loss) throw coverageError(store.uri, after, loss);
    }
    before = after;
  }
}

function coverageError(target: string, after: TableManifest, { name, rows }: CoverageLoss): WorkError {
  return new WorkError(
    'INDEX_COVERAGE_LOST',
    `Version ${after.version} of ${target} (${after.transaction?.operation}) left ${rows} rows outside of the index ${name} that were inside before.`,
    {
      disposition: 'permanent',
      next: `Send OptimizeIndices for this table, and report this: nothing that is done to a table may do so. Until then a search through ${name} may miss these rows.`,
      details: { index: name, rows, version: after.version },
    },
  );
}
