import type { MergeInsertBuilder, Table } from '@lancedb/lancedb';
import { arrow, type Schema } from './arrow.ts';

/**
 * A merge builder that moves rows as they are. A table with embedding functions in its schema would make LanceDB
 * compute vectors that the writer left null, so the builder then gets a schema without them.
 */
export async function plainMergeInsert(table: Table, keyColumn: string, schema: Schema): Promise<MergeInsertBuilder> {
  if (!schema.metadata.has('embedding_functions')) return table.mergeInsert(keyColumn);
  const metadata = new Map([...schema.metadata].filter(([name]) => name !== 'embedding_functions'));
  const inner = Reflect.get(table, 'inner') as { mergeInsert(on: string[]): never };
  // Not at the top: a bundle would load it at its start, and functions without the native library would not come up.
  const { MergeInsertBuilder } = await import('@lancedb/lancedb');
  const plain = new arrow.Schema(schema.fields, metadata);
  return new MergeInsertBuilder(inner.mergeInsert([keyColumn]), plain as never);
}
