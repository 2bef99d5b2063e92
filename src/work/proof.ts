import { typedErrorIn } from '../errors.ts';
import { indexCoverage } from '../lance/index-coverage.ts';
import { keyColumnOf, keyIndexOf } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';

/** Data files that are in `after` and not in `before`, in bytes: what the commits between wrote into data files. */
export function bytesWritten(before: TableManifest, after: TableManifest): number {
  return newFiles(before, after).reduce((sum, file) => sum + (file.bytes ?? 0), 0);
}

function newFiles(before: TableManifest, after: TableManifest) {
  const known = new Set(before.fragments.flatMap((fragment) => fragment.files.map((file) => file.path)));
  return after.fragments.flatMap((fragment) => fragment.files).filter((file) => !known.has(file.path));
}

export interface FragmentChange {
  readonly removed: number;
  readonly added: number;
  /** Data files of the removed fragments, in bytes. */
  readonly removedBytes: number;
}

export function fragmentChange(before: TableManifest, after: TableManifest): FragmentChange {
  const old = new Set(before.fragments.map((fragment) => fragment.id));
  const present = new Set(after.fragments.map((fragment) => fragment.id));
  const removed = before.fragments.filter((fragment) => !present.has(fragment.id));
  return {
    removed: removed.length,
    added: after.fragments.filter((fragment) => !old.has(fragment.id)).length,
    removedBytes: removed.reduce((sum, fragment) => sum + (fragment.bytes ?? 0), 0),
  };
}

/** Compaction also serves tables without a key, so a missing one is no error here. */
function keyIndexAfter(after: TableManifest) {
  try {
    return keyIndexOf(after, keyColumnOf(after));
  } catch (error) {
    if (typedErrorIn(error)?.code === 'KEY_COLUMN_MISSING') return null;
    throw error;
  }
}

/** Every index that queries use, with the rows outside of it: null where it was not there. */
function indexesBeforeAndAfter(before: TableManifest, after: TableManifest) {
  const earlier = new Map(indexCoverage(before).map((index) => [index.name, index]));
  return indexCoverage(after).map(({ name, kind, segments, rowsOutside }) => ({
    name,
    kind,
    segments,
    rowsOutsideBefore: earlier.get(name)?.rowsOutside ?? null,
    rowsOutsideAfter: rowsOutside,
  }));
}

/** What every result shows of the table before and after, from the manifests alone. */
export function tableProof(before: TableManifest, after: TableManifest) {
  const index = keyIndexAfter(after);
  return {
    versionBefore: before.version,
    versionAfter: after.version,
    rowsBefore: before.liveRows,
    rowsAfter: after.liveRows,
    fragmentsBefore: before.fragments.length,
    fragmentsAfter: after.fragments.length,
    bytesWritten: bytesWritten(before, after),
    indexes: indexesBeforeAndAfter(before, after),
    keyIndex: index && {
      name: index.name,
      kind: index.kind,
      coveredFragments: index.coveredFragments,
      uncoveredFragments: index.uncoveredFragments,
      unindexedRows: index.unindexedRows,
    },
  };
}
