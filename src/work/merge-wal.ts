import { assertNoBranches } from '../lance/branches.ts';
import { readNewestManifest } from '../lance/newest.ts';
import { commitWatermark } from '../lance/watermark.ts';
import { assertPartsDone } from '../tasks/part-outcomes.ts';
import type { WorkResult } from '../tasks/task.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { assertCoverageKept } from './coverage.ts';
import { WorkError } from './errors.ts';
import { collectGarbage, type Garbage } from './garbage.ts';
import { type Gate, readGate } from './gate.ts';
import { assertMergeable } from './merge-checks.ts';
import { type MergePlan, planMerge } from './merge-plan.ts';
import type { MergedRows } from './merge-rows.ts';
import { type FailedShard, readPending, type ShardView, shardOutcomes } from './pending.ts';
import { tableProof } from './proof.ts';

/**
 * One pass of a MergeWal task: the generations above the watermark, up to the limits, into the base table.
 *
 *   gate -> plan -> keys -> merge commit -> watermark commit (verified) -> retention -> directories -> drain
 *
 * Every arrow is a point where the process may die: the next pass repeats from the manifests and ends the same.
 * Errors: KEY_INDEX_MISSING, DUPLICATE_KEYS, NULL_KEYS, SCHEMA_*, GENERATION_MISSING, WATERMARK_MOVED, *_UNSUPPORTED,
 * TOMBSTONE_COLUMN_TAKEN, MEMORY_EXHAUSTED, INDEX_COVERAGE_LOST, DEADLINE, and those of the manifests.
 */
export async function mergeWal(context: WorkContext, dependencies: WorkDependencies): Promise<WorkResult> {
  const { settings } = dependencies;
  const store = dependencies.storageFor(context.target);
  const gate = await readGate(store);
  const versionBefore = await context.baseVersion(gate.manifest.version);
  if (!gate.manifest.memWal) return nothingToMerge(gate, versionBefore);

  const pending = await readPending(dependencies, gate.manifest, context.target, settings.mergeMaxGenerations);
  if (pending.shards.length === 0) assertPartsDone(shardOutcomes(pending.failed));
  const plan = planMerge(pending.shards, {
    maxGenerations: settings.mergeMaxGenerations,
    maxBytes: settings.mergeMaxBytes,
  });
  const merged = plan.selections.length > 0 ? await mergeSelected(context, dependencies, gate, plan) : undefined;

  const head = (await readNewestManifest(store)) ?? gate.manifest;
  const shardIds = pending.shards.filter((shard) => shard.merged.length > 0 || merged?.watermarks.has(shard.shardId));
  const garbage = await collectGarbage(
    context,
    store,
    head,
    shardIds.map((shard) => shard.shardId),
    dependencies.now() - settings.generationRetentionMs,
  );
  const after = (await readNewestManifest(store)) ?? head;
  await assertCoverageKept(store, gate.manifest, after, merged?.versions);
  const failed = [...pending.failed, ...(merged?.failed ?? [])];
  return {
    ...partOf(plan, pending.shards, failed),
    rewroteNothing: merged === undefined && garbage.entries === 0,
    versionBefore,
    versionAfter: after.version,
    metrics: metricsOf(merged, garbage, plan),
    proof: {
      ...tableProof(gate.manifest, after),
      distinctKeys: merged?.distinctKeys ?? 0,
      watermarks: Object.fromEntries(after.memWal?.compacted ?? []),
      failedShards: failed.map(({ shardId, error }) => ({ shardId, code: error.code, message: error.message })),
    },
  };
}

async function mergeSelected(
  context: WorkContext,
  dependencies: WorkDependencies,
  gate: Gate,
  plan: MergePlan,
): Promise<MergedRows> {
  if (context.remainingMs() <= 0) {
    throw new WorkError('DEADLINE', 'No time was left to begin a merge.', {
      disposition: 'failure',
      next: 'Give the task more time, or lower MERGE_MAX_BYTES.',
    });
  }
  assertMergeable(gate.manifest, gate.keyColumn);
  await assertNoBranches(dependencies.storageFor(context.target));
  const generations = plan.selections.reduce((sum, selection) => sum + selection.generations.length, 0);
  context.progress(`merging ${generations} generations of ${plan.selections.length} shards`);
  // Loads the native library; a task with nothing to merge never gets here.
  const { mergeRows } = await import('./merge-rows.ts');
  const merged = await mergeRows(context, dependencies, gate, plan.selections);
  const mergedAt = [...merged.versions].at(-1);
  await commitWatermark(dependencies.storageFor(context.target), {
    watermarks: merged.watermarks,
    ...(mergedAt === undefined ? {} : { mergedAt }),
    catchUpWhenIndexed: true,
    beforePut: () => context.fence(),
    signal: context.signal,
    now: dependencies.now,
  });
  return merged;
}

/** What is left is asked for in the transaction that ends this task; a shard that failed waits for the next sweep. */
function partOf(plan: MergePlan, shards: readonly ShardView[], failed: readonly FailedShard[]) {
  const reasons: string[] = [];
  const failedIds = new Set(failed.map(({ shardId }) => shardId));
  const taken = new Map(plan.selections.map((selection) => [selection.shardId, selection.generations.length]));
  const left = shards
    .filter((shard) => !failedIds.has(shard.shardId))
    .reduce((sum, shard) => sum + shard.pending.length - (taken.get(shard.shardId) ?? 0), 0);
  if (left > 0) reasons.push(`${left} generations left for the next pass`);
  for (const { shardId, error } of failed) reasons.push(`shard ${shardId} failed: ${error.code}`);
  return {
    ...(reasons.length > 0 ? { partial: reasons.join('; ') } : {}),
    ...(left > 0 ? { followUp: { kind: 'MergeWal' as const, reason: 'wal-remaining' } } : {}),
  };
}

function metricsOf(merged: MergedRows | undefined, garbage: Garbage, plan: MergePlan): Record<string, number> {
  return {
    merge_wal_generations: merged?.generations ?? 0,
    merge_wal_rows_read: merged?.rowsRead ?? 0,
    merge_wal_rows_inserted: merged?.rowsInserted ?? 0,
    merge_wal_rows_updated: merged?.rowsUpdated ?? 0,
    merge_wal_rows_deleted: merged?.rowsDeleted ?? 0,
    merge_wal_bytes_read: merged ? plan.bytes : 0,
    merge_wal_index_built: merged?.indexBuilt ? 1 : 0,
    merge_wal_directories_removed: garbage.directories,
    merge_wal_entries_drained: garbage.entries,
  };
}

function nothingToMerge(gate: Gate, versionBefore: number): WorkResult {
  return {
    rewroteNothing: true,
    versionBefore,
    versionAfter: gate.manifest.version,
    metrics: metricsOf(undefined, { directories: 0, entries: 0, objects: 0 }, { selections: [], left: 0, bytes: 0 }),
    proof: { ...tableProof(gate.manifest, gate.manifest), distinctKeys: 0 },
  };
}
