import type { KeyIndex } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import { type Gate, readGate } from './gate.ts';
import { lancedbError } from './lancedb-errors.ts';

/**
 * Builds the BTree on the key column over all rows, in one commit that reads only that column. An index of another
 * kind on the key is replaced under its own name. Throws INDEX_NOT_BUILT when the manifest does not show it afterwards.
 */
export async function buildKeyIndex(context: WorkContext, dependencies: WorkDependencies, gate: Gate): Promise<Gate> {
  const { Index } = await import('@lancedb/lancedb');
  const name = indexName(gate.manifest, gate.keyColumn, gate.keyIndex);
  const table = await dependencies.lancedb.openTable(context.target);
  try {
    await context.fence();
    await context.native(() => table.createIndex(gate.keyColumn, { config: Index.btree(), name, replace: true }));
  } catch (error) {
    throw lancedbError(error, `building the BTree ${name} on ${gate.keyColumn}`);
  } finally {
    table.close();
  }
  const after = await readGate(dependencies.storageFor(context.target));
  if (after.keyIndex?.exact) return after;
  throw new WorkError('INDEX_NOT_BUILT', `The BTree ${name} was built, but the newest manifest does not show it.`, {
    disposition: 'failure',
    next: 'Look whether something else replaces the indexes of this table.',
  });
}

/** Keeps the name of an index on the key; a name that belongs to another column's index is left alone. */
function indexName(manifest: TableManifest, keyColumn: string, keyIndex: KeyIndex | null): string {
  if (keyIndex?.exact) return keyIndex.name;
  const keyField = manifest.fields.find((field) => field.parentId < 0 && field.name === keyColumn);
  const taken = manifest.indexes.filter(
    (index) => !(index.fieldIds.length === 1 && index.fieldIds[0] === keyField?.id),
  );
  const wanted = `${keyColumn}_idx`;
  return taken.some((index) => index.name === wanted) ? `${keyColumn}_btree_idx` : wanted;
}
