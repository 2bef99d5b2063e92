import { UpkeepError } from '../errors.ts';
import { keyColumnMissing, unsupported } from './errors.ts';
import type { IndexEntry, TableManifest } from './manifest.ts';

export interface KeyColumn {
  readonly name: string;
  readonly fieldId: number;
  /** True when the table declares it as its primary key; false when it is only the default name. */
  readonly declared: boolean;
}

/** What a KeyIndex's `kind` says when the key index's name is taken by an index on some other column. */
export const OTHER_COLUMN = 'OtherColumn';

export interface KeyIndex {
  readonly name: string;
  /** As in IndexEntry; `Mixed` when segments disagree; `OtherColumn` when it only has the key index's name. */
  readonly kind: string;
  /** A BTree on exactly the key column. Says nothing on coverage. */
  readonly exact: boolean;
  readonly coveredFragments: number;
  readonly uncoveredFragments: number;
  /** Live rows of the uncovered fragments. */
  readonly unindexedRows: number;
  readonly segments: number;
}

/**
 * The declared primary key, whatever its type; else the column `fallback`, if its type can be a key.
 * Throws `MANIFEST_UNSUPPORTED` for a composite or nested key, `KEY_COLUMN_MISSING` when there is neither.
 */
export function keyColumnOf(manifest: TableManifest, fallback = 'id'): KeyColumn {
  const declared = manifest.fields.filter((field) => field.primaryKeyPosition !== undefined);
  if (declared.length > 1) {
    const names = declared.map((field) => field.name);
    throw unsupported(manifest.key, `declares a composite primary key (${names.join(', ')})`, 'one key column', {
      columns: names,
    });
  }
  const [key] = declared;
  if (key) {
    if (key.parentId >= 0)
      throw unsupported(manifest.key, `keys on the nested field "${key.name}"`, 'a top-level column');
    return { name: key.name, fieldId: key.id, declared: true };
  }
  const byName = manifest.fields.find(
    (field) => field.parentId < 0 && field.name === fallback && canBeKey(field.logicalType),
  );
  if (!byName) {
    const other = manifest.fields.find((field) => field.parentId < 0 && field.name === fallback);
    throw keyColumnMissing(manifest.key, fallback, other?.logicalType);
  }
  return { name: byName.name, fieldId: byName.id, declared: false };
}

/** A key is text or an integer: what a merge can name in SQL and compare exactly. */
export function canBeKey(logicalType: string): boolean {
  return /^(string|large_string|u?int(8|16|32|64))$/.test(logicalType);
}

/** LanceDB builds no BTree on large text. */
export function canHaveBTree(logicalType: string): boolean {
  return canBeKey(logicalType) && logicalType !== 'large_string';
}

/** False for a table without a key, or with one that no BTree can stand on: there is nothing to index, and nothing wrong with that. */
export function hasIndexableKey(manifest: TableManifest): boolean {
  try {
    const { fieldId } = keyColumnOf(manifest);
    return canHaveBTree(manifest.fields.find(({ id }) => id === fieldId)?.logicalType ?? '');
  } catch (error) {
    if (error instanceof UpkeepError && error.disposition === 'permanent') return false;
    throw error;
  }
}

/** Segments by index name: one logical index each. */
export function logicalIndexes(manifest: TableManifest): Map<string, IndexEntry[]> {
  const byName = new Map<string, IndexEntry[]>();
  for (const entry of manifest.indexes) {
    const segments = byName.get(entry.name);
    if (segments) segments.push(entry);
    else byName.set(entry.name, [entry]);
  }
  return byName;
}

/** How much of the table's current fragments the segments cover together. */
export function coverageOf(manifest: TableManifest, segments: readonly IndexEntry[]) {
  let coveredFragments = 0;
  let unindexedRows = 0;
  for (const fragment of manifest.fragments) {
    if (segments.some((segment) => segment.fragments?.has(fragment.id))) coveredFragments++;
    else unindexedRows += fragment.liveRows;
  }
  return { coveredFragments, uncoveredFragments: manifest.fragments.length - coveredFragments, unindexedRows };
}

/**
 * The index that serves the key column, from the manifest alone. A BTree on exactly that column wins (the best covering
 * one, should there be several); else an index of another kind on it, the one named `<key>_idx` first; else an index of
 * that name on another column, reported as `OtherColumn` with nothing covered; else null.
 */
export function keyIndexOf(manifest: TableManifest, keyColumn: KeyColumn): KeyIndex | null {
  const usualName = `${keyColumn.name}_idx`;
  const candidates = [...logicalIndexes(manifest)]
    .filter(([, segments]) =>
      segments.every(({ fieldIds }) => fieldIds.length === 1 && fieldIds[0] === keyColumn.fieldId),
    )
    .map(([name, segments]) => describe(manifest, name, segments))
    .sort((a, b) => rank(a) - rank(b) || a.unindexedRows - b.unindexedRows || a.name.localeCompare(b.name));
  if (candidates[0]) return candidates[0];
  const taken = manifest.indexes.filter((entry) => entry.name === usualName);
  if (taken.length === 0) return null;
  return {
    name: usualName,
    kind: OTHER_COLUMN,
    exact: false,
    coveredFragments: 0,
    uncoveredFragments: manifest.fragments.length,
    unindexedRows: manifest.liveRows,
    segments: taken.length,
  };

  function rank(index: KeyIndex): number {
    if (index.exact) return 0;
    return index.name === usualName ? 1 : 2;
  }
}

function describe(manifest: TableManifest, name: string, segments: readonly IndexEntry[]): KeyIndex {
  const kinds = new Set(segments.map((segment) => segment.kind));
  const kind = kinds.size === 1 ? (segments[0] as IndexEntry).kind : 'Mixed';
  return { name, kind, exact: kind === 'BTree', ...coverageOf(manifest, segments), segments: segments.length };
}
