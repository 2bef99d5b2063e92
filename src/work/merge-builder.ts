import { MergeInsertBuilder, type Table } from '@lancedb/lancedb';
import { arrow, type Schema } from './arrow.ts';

/**
 * A merge builder that moves rows as they are. A table with embedding functions in its schema would make LanceDB
 * compute vectors that the writer left null, so the builder then gets a schema without them.
 */
export function plainMergeInsert(table: Table, keyColumn: string, schema: Schema): MergeInsertBuilder {
  if (!schema.metadata.has('embedding_functions')) return table.mergeInsert(keyColumn);
  const metadata = new Map([...schema.metadata].filter(([name]) => name !== 'embedding_functions'));
  const inner = Reflect.get(table, 'inner') as { mergeInsert(on: string[]): never };
  return new MergeInsertBuilder(inner.mergeInsert([keyColumn]), new arrow.Schema(schema.fields, metadata) as never);
}
