import { isHold } from './hold.ts';
import { coverageOf, logicalIndexes } from './key-index.ts';
import type { IndexEntry, TableManifest } from './manifest.ts';

/** How far one logical index (all segments of one name) covers a table. */
export interface IndexCoverage {
  readonly name: string;
  /** As in IndexEntry; `Mixed` when segments disagree. */
  readonly kind: string;
  readonly columns: readonly string[];
  readonly segments: number;
  readonly uncoveredFragments: number;
  /** Ids of those of them that hold live rows. */
  readonly outside: readonly number[];
  /** Live rows of the uncovered fragments. */
  readonly rowsOutside: number;
  /** Bytes of its files, as far as the writer recorded them. */
  readonly bytes: number;
}

/** The indexes that queries use, in order of their names: without holds and the table's own bookkeeping. */
export function indexCoverage(manifest: TableManifest): readonly IndexCoverage[] {
  return [...queryIndexes(manifest)]
    .map(([name, segments]) => {
      const { uncoveredFragments, unindexedRows } = coverageOf(manifest, segments);
      return {
        name,
        kind: kindOf(segments),
        columns: columnsOf(manifest, segments),
        segments: segments.length,
        uncoveredFragments,
        outside: manifest.fragments
          .filter(({ id, liveRows }) => liveRows > 0 && !covers(segments, id))
          .map(({ id }) => id),
        rowsOutside: unindexedRows,
        bytes: bytesOf(segments),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Segments by name of every index that a query can use. */
export function queryIndexes(manifest: TableManifest): Map<string, IndexEntry[]> {
  const indexes = logicalIndexes(manifest);
  for (const [name, segments] of indexes) {
    if (segments.some(isHold) || name.startsWith('__lance_')) indexes.delete(name);
  }
  return indexes;
}

/** Bytes of the files of some segments, as far as the writer recorded them. */
export function bytesOf(segments: readonly IndexEntry[]): number {
  return segments.reduce((sum, { files }) => sum + files.reduce((bytes, file) => bytes + file.bytes, 0), 0);
}

/** An index that covers less of what was there before. */
export interface CoverageLoss {
  readonly name: string;
  /** Live rows that were inside the index and are not any more. */
  readonly rows: number;
  /** The index is no longer in the manifest. */
  readonly dropped: boolean;
}

/**
 * What a commit took out of indexes: fragments that were covered and stayed, and, when the commit moves rows without
 * changing them (`movesRows`), every row that is outside now and was not before. An index that is gone lost what it covered.
 */
export function coverageLost(before: TableManifest, after: TableManifest, movesRows: boolean): CoverageLoss[] {
  const earlier = queryIndexes(before);
  const later = queryIndexes(after);
  const known = new Set(before.fragments.map(({ id }) => id));
  return [...earlier].flatMap(([name, old]): CoverageLoss[] => {
    const segments = later.get(name);
    if (!segments) {
      const covered = before.fragments.filter(({ id }) => covers(old, id));
      return [{ name, rows: covered.reduce((sum, { liveRows }) => sum + liveRows, 0), dropped: true }];
    }
    // A user may give a name to an index on other columns; then there is nothing to compare.
    if (String(columnIds(old)) !== String(columnIds(segments))) return [];
    const dropped = after.fragments.filter(({ id }) => known.has(id) && covers(old, id) && !covers(segments, id));
    const rows = dropped.reduce((sum, { liveRows }) => sum + liveRows, 0);
    const moved = movesRows ? coverageOf(after, segments).unindexedRows - coverageOf(before, old).unindexedRows : 0;
    const lost = Math.max(rows, moved);
    return lost > 0 ? [{ name, rows: lost, dropped: false }] : [];
  });
}

function covers(segments: readonly IndexEntry[], fragmentId: number): boolean {
  return segments.some(({ fragments }) => fragments?.has(fragmentId));
}

function kindOf(segments: readonly IndexEntry[]): string {
  const kinds = new Set(segments.map(({ kind }) => kind));
  return kinds.size === 1 ? ([...kinds][0] as string) : 'Mixed';
}

function columnIds(segments: readonly IndexEntry[]): number[] {
  return [...new Set(segments.flatMap(({ fieldIds }) => fieldIds))].sort((a, b) => a - b);
}

function columnsOf(manifest: TableManifest, segments: readonly IndexEntry[]): string[] {
  return columnIds(segments).map((id) => manifest.fields.find((field) => field.id === id)?.name ?? `field ${id}`);
}
