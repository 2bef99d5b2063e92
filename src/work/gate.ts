import { tableNotFound } from '../lance/errors.ts';
import { canBeKey, type KeyIndex, keyColumnOf, keyIndexOf } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { assertWritable } from '../lance/support.ts';
import { WorkError } from './errors.ts';

export interface Gate {
  readonly manifest: TableManifest;
  readonly keyColumn: string;
  readonly keyIndex: KeyIndex | null;
  /**
   * - `covering`: a BTree on exactly the key column; the rows outside it are few enough to scan.
   * - `stale`: the BTree is there, but most rows are outside of it.
   * - `missing`: no index on the key, or one of another kind, which merge_insert does not probe.
   */
  readonly coverage: 'covering' | 'stale' | 'missing';
}

/**
 * Reads the newest manifest and answers whether a merge would probe the key index or join the whole base table.
 * No native library is loaded for it. Throws TABLE_NOT_FOUND, KEY_COLUMN_MISSING, KEY_TYPE_UNSUPPORTED and
 * MANIFEST_* errors.
 */
export async function readGate(store: ObjectStore): Promise<Gate> {
  const manifest = await readNewestManifest(store);
  if (!manifest) throw tableNotFound(store.uri);
  assertWritable(manifest);
  const keyColumn = keyColumnOf(manifest);
  assertKeyType(manifest, keyColumn.fieldId);
  const keyIndex = keyIndexOf(manifest, keyColumn);
  return { manifest, keyColumn: keyColumn.name, keyIndex, coverage: coverageOf(manifest, keyIndex) };
}

function assertKeyType(manifest: TableManifest, fieldId: number): void {
  const field = manifest.fields.find(({ id }) => id === fieldId);
  if (field && canBeKey(field.logicalType)) return;
  throw new WorkError('KEY_TYPE_UNSUPPORTED', `The key column "${field?.name}" is ${field?.logicalType}.`, {
    disposition: 'permanent',
    next: 'Use a string or integer column as the key.',
  });
}

function coverageOf(manifest: TableManifest, keyIndex: KeyIndex | null): Gate['coverage'] {
  if (!keyIndex?.exact) return 'missing';
  const indexedRows = manifest.liveRows - keyIndex.unindexedRows;
  return manifest.liveRows > 0 && keyIndex.unindexedRows > indexedRows ? 'stale' : 'covering';
}
