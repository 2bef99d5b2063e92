import {
  type ArrowTable,
  arrow,
  type Data,
  type DataType,
  type Dictionary,
  type RecordBatch,
  type Schema,
} from './arrow.ts';
import { DictionarySet } from './dictionaries.ts';
import { WorkError } from './errors.ts';
import { TOMBSTONE_COLUMN } from './merge-checks.ts';
import { nullColumn } from './null-column.ts';

/**
 * Checks that rows of a generation can stand in the base table.
 * Throws SCHEMA_COLUMN_UNKNOWN for a column that the base lacks, SCHEMA_MISMATCH for another type or a missing column
 * that may not be null. A nullable column that the generation lacks is filled with nulls: it was added later.
 */
export function assertGenerationSchema(base: Schema, generation: Schema, where: string): void {
  for (const field of generation.fields) {
    if (field.name === TOMBSTONE_COLUMN) continue;
    const mine = base.fields.find((candidate) => candidate.name === field.name);
    if (!mine) {
      throw new WorkError(
        'SCHEMA_COLUMN_UNKNOWN',
        `${where} has the column "${field.name}", which the base table lacks, so its values would be lost.`,
        { disposition: 'permanent', next: `Add the column to the base table (addColumns), then send MergeWal again.` },
      );
    }
    if (String(mine.type) !== String(field.type)) {
      throw new WorkError(
        'SCHEMA_MISMATCH',
        `${where} has the column "${field.name}" as ${field.type}; the base table has it as ${mine.type}.`,
        { disposition: 'permanent', next: 'Give the base column back its type, or write these rows again.' },
      );
    }
  }
  for (const field of base.fields) {
    if (field.nullable || generation.fields.some((candidate) => candidate.name === field.name)) continue;
    throw new WorkError(
      'SCHEMA_MISMATCH',
      `${where} lacks the column "${field.name}", which may not be null in the base table.`,
      { disposition: 'permanent', next: 'Make the column nullable (alterColumns), then send MergeWal again.' },
    );
  }
}

/**
 * Puts batches of several generations into tables of the base's schema, each with one dictionary per dictionary
 * column: the Arrow file format that LanceDB takes cannot replace a dictionary between batches. More than one table
 * comes back only when the values outgrow the column's index type (128 for int8).
 */
export function alignBatches(base: Schema, batches: readonly RecordBatch[]): ArrowTable[] {
  const tables: ArrowTable[] = [];
  let slice: RecordBatch[] = [];
  let dictionaries = new DictionarySet();
  for (const batch of batches) {
    const columns = base.fields.map((field) => columnData(batch, field.name));
    const widened = dictionaries.with(columns);
    if (!widened && slice.length > 0) {
      tables.push(buildTable(base, slice, dictionaries));
      slice = [];
    }
    dictionaries = widened ?? new DictionarySet().with(columns) ?? dictionaries;
    slice.push(batch);
  }
  if (slice.length > 0) tables.push(buildTable(base, slice, dictionaries));
  return tables;
}

function buildTable(base: Schema, batches: readonly RecordBatch[], dictionaries: DictionarySet): ArrowTable {
  const aligned = batches.map((batch) => {
    const children = base.fields.map((field, index) => {
      const data = columnData(batch, field.name);
      if (data) return rebuild(data, field.type, String(index), dictionaries);
      return rebuild(nullColumn(field.type, batch.numRows), field.type, String(index), dictionaries);
    });
    const type = new arrow.Struct(base.fields);
    return new arrow.RecordBatch(base, arrow.makeData({ type, length: batch.numRows, nullCount: 0, children }));
  });
  return new arrow.Table(base, aligned);
}

function columnData(batch: RecordBatch, name: string): Data | undefined {
  const index = batch.schema.fields.findIndex((field) => field.name === name);
  return index < 0 ? undefined : batch.data.children[index];
}

/** The same values under the base's own type objects, with the shared dictionaries put in. */
function rebuild(data: Data, type: DataType, path: string, dictionaries: DictionarySet): Data {
  if (arrow.DataType.isDictionary(type)) return dictionaries.rebuild(data, type as Dictionary, path);
  const fields = (type.children ?? []) as Schema['fields'];
  const children = data.children.map((child, index) => {
    const childType = fields[index]?.type ?? child.type;
    return rebuild(child, childType as DataType, `${path}.${index}`, dictionaries);
  });
  return data.clone(type, data.offset, data.length, data.nullCount, buffersOf(data), children);
}

function buffersOf(data: Data) {
  return [data.valueOffsets, data.values, data.nullBitmap, data.typeIds] as never;
}
