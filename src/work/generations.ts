import type { Table } from '@lancedb/lancedb';
import { generationMissing } from '../lance/errors.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { RecordBatch, Schema } from './arrow.ts';
import { assertGenerationSchema } from './columns.ts';
import type { WorkDependencies } from './context.ts';
import type { Gate } from './gate.ts';
import { keyReader } from './key-reader.ts';
import { lancedbError, structNull } from './lancedb-errors.ts';
import { assertOwnTombstones, TOMBSTONE_COLUMN } from './merge-checks.ts';
import type { ShardSelection } from './merge-plan.ts';
import type { ScratchDatabase } from './scratch.ts';
import { sqlName } from './sql.ts';
import { WinnerSelection } from './winners.ts';

interface OpenGeneration {
  readonly name: string;
  readonly clone: Table;
  readonly columns: string[];
  /** What merging it costs in memory, at least. */
  readonly bytes: number;
}

/** The winning rows of one generation, whose payloads can be read portion by portion. */
export interface WinnerSource {
  /** Row addresses, ascending. */
  readonly rowIds: readonly bigint[];
  /** Bytes of one row on average; 0 when nothing is known. */
  readonly rowBytes: number;
  /** Reads rows `from` up to `to`, without it. */
  read(from: number, to: number): Promise<RecordBatch[]>;
}

/** The selected generations of one shard, opened: keys first, payloads of the winners later. */
export class ShardReader {
  readonly selection: ShardSelection;
  readonly #generations: OpenGeneration[] = [];
  readonly winners = new WinnerSelection();

  private constructor(selection: ShardSelection) {
    this.selection = selection;
  }

  /**
   * Opens the generations and reads their keys.
   * Throws GENERATION_MISSING, SCHEMA_*, NULL_KEYS, KEY_TYPE_UNSUPPORTED; each names the generation.
   */
  static async open(
    dependencies: WorkDependencies,
    scratch: ScratchDatabase,
    target: string,
    gate: Gate,
    base: Schema,
    selection: ShardSelection,
  ): Promise<ShardReader> {
    const reader = new ShardReader(selection);
    for (const generation of selection.generations) {
      const path = `_mem_wal/${selection.shardId}/${generation.path}`;
      const name = `Generation ${generation.generation} of shard ${selection.shardId}`;
      const manifest = await readNewestManifest(dependencies.storageFor(`${target}/${path}`));
      if (!manifest) throw generationMissing(selection.shardId, generation.generation, path);
      assertOwnTombstones(gate.manifest, manifest, name);
      try {
        const clone = await scratch.clone(`${target}/${path}`);
        const schema = (await clone.schema()) as unknown as Schema;
        assertGenerationSchema(base, schema, name);
        const columns = schema.fields.map((field) => field.name).filter((column) => column !== TOMBSTONE_COLUMN);
        reader.#generations.push({ name, clone, columns, bytes: generation.bytes });
        await assertStructsNotNull(gate.manifest, clone, schema, name);
        await reader.#readKeys(clone, gate.keyColumn, name);
      } catch (error) {
        throw lancedbError(error, `reading the keys of ${name.toLowerCase()}`);
      }
    }
    return reader;
  }

  async #readKeys(clone: Table, keyColumn: string, name: string): Promise<void> {
    this.winners.beginGeneration();
    for await (const batch of clone.query().select([keyColumn, TOMBSTONE_COLUMN]).withRowId()) {
      const keys = keyReader(batch as unknown as RecordBatch, keyColumn, name);
      const rowIds = batch.getChild('_rowid');
      const tombstones = batch.getChild(TOMBSTONE_COLUMN);
      for (let row = 0; row < batch.numRows; row += 1) {
        this.winners.add({
          key: keys(row),
          rowId: rowIds?.get(row) as bigint,
          tombstone: tombstones?.get(row) === true,
        });
      }
    }
  }

  /** The winning rows, oldest generation first. Nothing is read before it is asked for. */
  sources(): WinnerSource[] {
    return this.winners.perGeneration().flatMap(({ rowIds, rows }, index) => {
      const generation = this.#generations[index];
      if (!generation || rowIds.length === 0) return [];
      const read = (from: number, to: number) =>
        readRows(generation, rowIds.length === rows && to - from === rows ? undefined : rowIds.slice(from, to));
      return [{ rowIds, rowBytes: generation.bytes / rows, read }];
    });
  }
}

/** Format 2.0 has no room for a struct that is null itself: the base table could not take such a row. */
async function assertStructsNotNull(base: TableManifest, clone: Table, schema: Schema, name: string): Promise<void> {
  if (base.dataFormatVersion !== '2.0') return;
  for (const field of base.fields) {
    if (field.parentId >= 0 || field.logicalType !== 'struct' || !field.nullable) continue;
    // A column that the generation lacks would be filled with nulls.
    const there = schema.fields.some((mine) => mine.name === field.name);
    const nulls = there ? await clone.countRows(`${sqlName(field.name)} IS NULL`) : 1;
    if (nulls > 0) throw structNull(field.name, name);
  }
}

/** All rows of a generation, or those at the given addresses: a scan is faster, but reads far ahead. */
async function readRows(generation: OpenGeneration, rowIds: bigint[] | undefined): Promise<RecordBatch[]> {
  const { clone, columns, name } = generation;
  const batches: RecordBatch[] = [];
  try {
    const rows = rowIds === undefined ? clone.query().select(columns) : clone.takeRowIds(rowIds).select(columns);
    for await (const batch of rows) {
      if (batch.numRows > 0) batches.push(batch as unknown as RecordBatch);
    }
  } catch (error) {
    throw lancedbError(error, `reading the rows of ${name.toLowerCase()}`);
  }
  return batches;
}
