import type { Table } from '@lancedb/lancedb';
import { generationMissing } from '../lance/errors.ts';
import { readNewestManifest } from '../lance/newest.ts';
import { arrow, type DataType, type RecordBatch, type Schema } from './arrow.ts';
import { checkGenerationSchema, TOMBSTONE_COLUMN } from './columns.ts';
import type { WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import { lancedbError } from './lancedb-errors.ts';
import type { ShardSelection } from './merge-plan.ts';
import type { ScratchDatabase } from './scratch.ts';
import { sqlName } from './sql.ts';
import { type Key, WinnerSelection } from './winners.ts';

interface OpenGeneration {
  readonly name: string;
  readonly clone: Table;
  readonly schema: Schema;
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
    base: Schema,
    keyColumn: string,
    selection: ShardSelection,
  ): Promise<ShardReader> {
    const reader = new ShardReader(selection);
    for (const generation of selection.generations) {
      const path = `_mem_wal/${selection.shardId}/${generation.path}`;
      const name = `Generation ${generation.generation} of shard ${selection.shardId}`;
      if (!(await readNewestManifest(dependencies.storageFor(`${target}/${path}`)))) {
        throw generationMissing(selection.shardId, generation.generation, path);
      }
      try {
        const clone = await scratch.clone(`${target}/${path}`);
        const schema = (await clone.schema()) as unknown as Schema;
        checkGenerationSchema(base, schema, name);
        reader.#generations.push({ name, clone, schema });
        await reader.#readKeys(clone, keyColumn, name);
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

  /** The winning rows, oldest generation first. Only their payloads are read. */
  async payload(): Promise<RecordBatch[]> {
    const batches: RecordBatch[] = [];
    for (const [index, winners] of this.winners.perGeneration().entries()) {
      const generation = this.#generations[index];
      if (!generation || winners.rowIds.length === 0) continue;
      const columns = generation.schema.fields.map((field) => field.name).filter((name) => name !== TOMBSTONE_COLUMN);
      try {
        const rows =
          winners.rowIds.length === winners.rows
            ? generation.clone.query().select(columns)
            : generation.clone.takeRowIds(winners.rowIds).select(columns);
        for await (const batch of rows) {
          if (batch.numRows > 0) batches.push(batch as unknown as RecordBatch);
        }
      } catch (error) {
        throw lancedbError(error, `reading the rows of ${generation.name.toLowerCase()}`);
      }
    }
    return batches;
  }
}

/** Reads the key of a row as a value that is `===` for equal keys; throws for a null and for types that cannot be one. */
export function keyReader(batch: RecordBatch, keyColumn: string, where: string): (row: number) => Key {
  const vector = batch.getChild(keyColumn);
  const type = vector?.type as DataType | undefined;
  const supported =
    type && (arrow.DataType.isUtf8(type) || arrow.DataType.isLargeUtf8(type) || arrow.DataType.isInt(type));
  if (!vector || !supported) {
    throw new WorkError('KEY_TYPE_UNSUPPORTED', `${where}: the key column "${keyColumn}" is ${type ?? 'absent'}.`, {
      disposition: 'permanent',
      next: 'Use a string or integer column as the key.',
    });
  }
  return (row) => {
    const key = vector.get(row) as Key | null;
    if (key !== null) return key;
    throw new WorkError('NULL_KEYS', `${where} has a row without a key (column "${keyColumn}").`, {
      disposition: 'permanent',
      next: `Find it with ${sqlName(keyColumn)} IS NULL and give it a key; a row without one cannot be merged.`,
    });
  };
}
