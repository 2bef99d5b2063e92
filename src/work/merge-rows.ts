import type { Table } from '@lancedb/lancedb';
import { UpkeepError } from '../errors.ts';
import { canHaveBTree } from '../lance/key-index.ts';
import { assertPartsDone } from '../tasks/part-outcomes.ts';
import type { Schema } from './arrow.ts';
import { assertKeysNotNull, countBaseRows, findBaseKeys } from './base-keys.ts';
import { buildKeyIndex } from './build-key-index.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import type { Gate } from './gate.ts';
import { ShardReader } from './generations.ts';
import { printableKey } from './key-reader.ts';
import { callLancedb, refresh } from './lancedb-errors.ts';
import { MergeCommits } from './merge-commits.ts';
import type { ShardSelection } from './merge-plan.ts';
import { readSlices, SliceBudget } from './merge-slices.ts';
import { type FailedShard, shardOutcomes } from './pending.ts';
import { scanBaseKeys } from './scan-keys.ts';
import { ScratchDatabase } from './scratch.ts';
import type { Key } from './winners.ts';

export interface MergedRows {
  /** Highest merged generation per shard: the watermark to commit. */
  readonly watermarks: ReadonlyMap<string, number>;
  /** The versions of the merge commits, in their order; none when every touched key was a tombstone of nothing. */
  readonly versions: ReadonlySet<number>;
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
 * Merges the selected generations into the base table: the newest row per key, tombstones as deletes. All keys and types
 * are checked before the first commit; then the rows go in slice by slice, so that memory follows the slice. Each commit is
 * safe to repeat, since it upserts the same winners again and the watermark moves only afterwards.
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
    const schema = await readSchema(base);
    const { readers, failed } = await openShards(context, dependencies, scratch, gate, schema, selections);
    const upserts = readers.flatMap((reader) => reader.winners.upsertKeys());
    const deletes = readers.flatMap((reader) => reader.winners.deletedKeys());
    assertKeysInOneShard([...upserts, ...deletes]);

    const found = await assertBaseKeys(base, gate, [...upserts, ...deletes]);
    const present = deletes.filter((key) => found.has(key));
    const indexBuilt = await ensureKeyIndex(context, dependencies, gate);
    const commits = new MergeCommits(context, dependencies, gate, base, schema, selections);
    // A handle that has seen the key index: the one from before may plan without it.
    if (indexBuilt) await refresh(base);
    const sources = readers.flatMap((reader) => reader.sources());
    const budget = new SliceBudget(dependencies.settings.mergeSliceBytes);
    for await (const slice of readSlices(sources, budget)) await commits.upsert(slice, budget);
    await commits.delete(present);
    await refresh(base);
    await assertMergedKeys(base, gate.keyColumn, upserts, deletes);
    return {
      watermarks: new Map(readers.map((reader) => [reader.selection.shardId, highest(reader.selection)])),
      versions: commits.versions,
      failed,
      generations: readers.reduce((sum, reader) => sum + reader.selection.generations.length, 0),
      rowsRead: readers.reduce((sum, reader) => sum + reader.winners.rows, 0),
      rowsInserted: commits.rowsInserted,
      rowsUpdated: commits.rowsUpdated,
      rowsDeleted: present.length,
      distinctKeys: upserts.length,
      indexBuilt: indexBuilt || commits.indexBuilt,
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
  gate: Gate,
  schema: Schema,
  selections: readonly ShardSelection[],
): Promise<{ readers: ShardReader[]; failed: FailedShard[] }> {
  const readers: ShardReader[] = [];
  const failed: FailedShard[] = [];
  for (const selection of selections) {
    context.signal.throwIfAborted();
    try {
      readers.push(await ShardReader.open(dependencies, scratch, context.target, gate, schema, selection));
    } catch (error) {
      if (!(error instanceof UpkeepError) || error.disposition === 'contention') throw error;
      failed.push({ shardId: selection.shardId, error });
    }
  }
  if (readers.length === 0) assertPartsDone(shardOutcomes(failed));
  return { readers, failed };
}

async function readSchema(base: Table): Promise<Schema> {
  return (await callLancedb('reading the schema of the base table', () => base.schema())) as unknown as Schema;
}

function assertKeysInOneShard(keys: readonly Key[]): void {
  const seen = new Set<Key>();
  for (const key of keys) {
    if (seen.has(key)) {
      throw new WorkError('KEY_IN_TWO_SHARDS', `The key ${printableKey(key)} waits in two shards at once.`, {
        disposition: 'permanent',
        next: 'The sharding column must follow from the key. Which row is newer cannot be told: remove one of them.',
      });
    }
    seen.add(key);
  }
}

/** Through the index where there is one; else by one scan of the key column, before anything is written. */
async function assertBaseKeys(base: Table, gate: Gate, keys: readonly Key[]): Promise<ReadonlySet<Key>> {
  if (gate.coverage === 'missing') return scanBaseKeys(base, gate.keyColumn, keys);
  // A declared key is never nullable; only then can this be spared.
  if (gate.manifest.fields.some((field) => field.name === gate.keyColumn && field.parentId < 0 && field.nullable)) {
    await assertKeysNotNull(base, gate.keyColumn);
  }
  return findBaseKeys(base, gate.keyColumn, keys);
}

async function ensureKeyIndex(context: WorkContext, dependencies: WorkDependencies, gate: Gate): Promise<boolean> {
  if (gate.coverage === 'covering') return false;
  const key = gate.manifest.fields.find((field) => field.parentId < 0 && field.name === gate.keyColumn);
  if (!canHaveBTree(key?.logicalType ?? '')) {
    context.progress(`LanceDB builds no BTree on ${gate.keyColumn}: each slice reads the whole key column`);
    return false;
  }
  if (!dependencies.settings.indexBeforeMerge) {
    if (gate.coverage === 'stale') return false;
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

async function assertMergedKeys(base: Table, keyColumn: string, upserts: Key[], deletes: Key[]): Promise<void> {
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
