import type { Table } from '@lancedb/lancedb';
import { UpkeepError } from '../errors.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import { judgeParts } from '../tasks/part-outcomes.ts';
import type { Schema } from './arrow.ts';
import { countBaseKeys, countBaseRows, refuseNullKeys } from './base-keys.ts';
import { buildKeyIndex } from './build-key-index.ts';
import { alignBatches } from './columns.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import type { Gate } from './gate.ts';
import { ShardReader } from './generations.ts';
import { lancedbError } from './lancedb-errors.ts';
import { plainMergeInsert } from './merge-builder.ts';
import type { ShardSelection } from './merge-plan.ts';
import { type FailedShard, shardOutcomes } from './pending.ts';
import { scanBaseKeys } from './scan-keys.ts';
import { ScratchDatabase } from './scratch.ts';
import { keyPredicates } from './sql.ts';
import type { Key } from './winners.ts';

/** Deleted keys in one commit. */
const KEYS_PER_DELETE = 5000;

export interface MergedRows {
  /** Highest merged generation per shard: the watermark to commit. */
  readonly watermarks: ReadonlyMap<string, number>;
  /** The version of the last merge commit; undefined when every touched key was a tombstone of nothing. */
  readonly mergedAt: number | undefined;
  readonly failed: readonly FailedShard[];
  readonly generations: number;
  /** Rows read from generations, older duplicates included. */
  readonly rowsRead: number;
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsDeleted: number;
  /** Keys upserted; after the merge each stands in the base exactly once. */
  readonly distinctKeys: number;
  readonly indexBuilt: boolean;
}

/**
 * Merges the selected generations into the base table: the newest row per key, tombstones as deletes. Everything is
 * read and checked before the first commit; each commit is safe to repeat, since the watermark moves only afterwards.
 */
export async function mergeRows(
  context: WorkContext,
  dependencies: WorkDependencies,
  gate: Gate,
  selections: readonly ShardSelection[],
): Promise<MergedRows> {
  const scratch = await ScratchDatabase.open(dependencies.lancedb, context.target);
  const base = await dependencies.lancedb.openTable(context.target);
  try {
    const schema = await readSchema(base, gate.manifest);
    const { readers, failed } = await openShards(context, dependencies, scratch, schema, gate.keyColumn, selections);
    const upserts = readers.flatMap((reader) => reader.winners.upsertKeys());
    const deletes = readers.flatMap((reader) => reader.winners.deletedKeys());
    refuseSharedKeys([...upserts, ...deletes]);

    const found = await checkBaseKeys(base, gate, [...upserts, ...deletes]);
    const indexBuilt = await ensureKeyIndex(context, dependencies, gate);
    const batches = [];
    for (const reader of readers) batches.push(...(await reader.payload()));
    const tables = alignBatches(schema, batches);

    let mergedAt: number | undefined;
    let rowsInserted = 0;
    let rowsUpdated = 0;
    // A handle that has seen the key index: the one from before may plan without it.
    if (indexBuilt) await base.checkoutLatest();
    for (const rows of tables) {
      await context.fence();
      await refuseMovedWatermark(dependencies, context.target, selections);
      const merge = await plainMergeInsert(base, gate.keyColumn, schema);
      const result = await commit(context, 'merging rows into the base table', () =>
        merge
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .useLsm(false)
          .execute(rows as never, timeout(context)),
      );
      rowsInserted += result.numInsertedRows;
      rowsUpdated += result.numUpdatedRows;
      mergedAt = result.version;
    }
    for (const predicate of found > 0 ? keyPredicates(gate.keyColumn, deletes, KEYS_PER_DELETE) : []) {
      await context.fence();
      const result = await commit(context, 'deleting tombstoned keys', () => base.delete(predicate));
      mergedAt = result.version;
    }
    await base.checkoutLatest();
    await checkMergedKeys(base, gate.keyColumn, upserts, deletes);
    return {
      watermarks: new Map(readers.map((reader) => [reader.selection.shardId, highest(reader.selection)])),
      mergedAt,
      failed,
      generations: readers.reduce((sum, reader) => sum + reader.selection.generations.length, 0),
      rowsRead: readers.reduce((sum, reader) => sum + reader.winners.rows, 0),
      rowsInserted,
      rowsUpdated,
      rowsDeleted: Math.max(0, found - rowsUpdated),
      distinctKeys: upserts.length,
      indexBuilt,
    };
  } finally {
    base.close();
    await scratch.close();
  }
}

async function openShards(
  context: WorkContext,
  dependencies: WorkDependencies,
  scratch: ScratchDatabase,
  schema: Schema,
  keyColumn: string,
  selections: readonly ShardSelection[],
): Promise<{ readers: ShardReader[]; failed: FailedShard[] }> {
  const readers: ShardReader[] = [];
  const failed: FailedShard[] = [];
  for (const selection of selections) {
    context.signal.throwIfAborted();
    try {
      readers.push(await ShardReader.open(dependencies, scratch, context.target, schema, keyColumn, selection));
    } catch (error) {
      if (!(error instanceof UpkeepError) || error.disposition === 'contention') throw error;
      failed.push({ shardId: selection.shardId, error });
    }
  }
  if (readers.length === 0) judgeParts(shardOutcomes(failed));
  return { readers, failed };
}

async function readSchema(base: Table, manifest: TableManifest): Promise<Schema> {
  for (const field of manifest.fields) {
    const blob = field.logicalType.startsWith('blob') || field.metadata['lance-encoding:blob'] === 'true';
    if (!blob && !/^(large_list|list_view|large_list_view|run_end)/.test(field.logicalType)) continue;
    throw new WorkError(
      'TYPE_UNSUPPORTED',
      `The column "${field.name}" is ${blob ? 'a blob' : field.logicalType}, which cannot pass through the merge unchanged.`,
      { disposition: 'permanent', next: 'Use a list or binary type for it, or merge this table with another tool.' },
    );
  }
  return (await base.schema()) as unknown as Schema;
}

function refuseSharedKeys(keys: readonly Key[]): void {
  const seen = new Set<Key>();
  for (const key of keys) {
    if (seen.has(key)) {
      throw new WorkError('KEY_IN_TWO_SHARDS', `The key ${JSON.stringify(String(key))} waits in two shards at once.`, {
        disposition: 'permanent',
        next: 'The sharding column must follow from the key. Which row is newer cannot be told: remove one of them.',
      });
    }
    seen.add(key);
  }
}

/** Through the index where there is one; else by one scan of the key column, before anything is written. */
async function checkBaseKeys(base: Table, gate: Gate, keys: readonly Key[]): Promise<number> {
  if (gate.verdict === 'missing') return scanBaseKeys(base, gate.keyColumn, keys);
  // A declared key is never nullable; only then can this be spared.
  if (gate.manifest.fields.some((field) => field.name === gate.keyColumn && field.parentId < 0 && field.nullable)) {
    await refuseNullKeys(base, gate.keyColumn);
  }
  return countBaseKeys(base, gate.keyColumn, keys);
}

async function ensureKeyIndex(context: WorkContext, dependencies: WorkDependencies, gate: Gate): Promise<boolean> {
  if (gate.verdict === 'covering') return false;
  if (!dependencies.settings.indexBeforeMerge) {
    if (gate.verdict === 'stale') return false;
    throw new WorkError(
      'KEY_INDEX_MISSING',
      `There is no BTree on "${gate.keyColumn}"${gate.keyIndex ? ` (${gate.keyIndex.name} is ${gate.keyIndex.kind})` : ''}: a merge would join the whole base table.`,
      { disposition: 'failure', next: 'Send IndexId for this table, or set INDEX_BEFORE_MERGE=true.' },
    );
  }
  context.progress(`building the BTree on ${gate.keyColumn} before the merge`);
  await buildKeyIndex(context, dependencies, gate);
  return true;
}

/** With a BTree Lance itself does not stop two mergers from inserting one key twice, so a moved watermark stops us. */
async function refuseMovedWatermark(
  dependencies: WorkDependencies,
  target: string,
  selections: readonly ShardSelection[],
): Promise<void> {
  const head = await readNewestManifest(dependencies.storageFor(target));
  for (const selection of selections) {
    const now = head?.memWal?.compacted.get(selection.shardId) ?? 0;
    if (head?.memWal && now === selection.watermark) continue;
    throw new WorkError(
      'WATERMARK_MOVED',
      `Shard ${selection.shardId} was at generation ${selection.watermark} when this merge was planned and is at ${now} now.`,
      { disposition: 'contention', next: 'Nothing to do: the task is planned again.' },
    );
  }
}

async function commit<T>(context: WorkContext, during: string, run: () => Promise<T>): Promise<T> {
  try {
    return await context.native(run);
  } catch (error) {
    throw lancedbError(error, during);
  }
}

function timeout(context: WorkContext): { timeoutMs: number } {
  return { timeoutMs: Math.max(1000, Math.min(context.remainingMs(), 10 * 60_000)) };
}

async function checkMergedKeys(base: Table, keyColumn: string, upserts: Key[], deletes: Key[]): Promise<void> {
  const present = await countBaseRows(base, keyColumn, upserts);
  const back = await countBaseRows(base, keyColumn, deletes);
  if (present === upserts.length && back === 0) return;
  throw new WorkError(
    'MERGE_COUNT_MISMATCH',
    `After the merge ${present} of ${upserts.length} upserted keys and ${back} of ${deletes.length} deleted keys are in the base table.`,
    {
      disposition: 'failure',
      next: 'Another writer changed these keys meanwhile; the generations stay listed and are merged again.',
    },
  );
}

function highest(selection: ShardSelection): number {
  return selection.generations.at(-1)?.generation ?? selection.watermark;
}
