import type { Table } from '@lancedb/lancedb';
import { readManifestAt } from '../lance/newest.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { lancedbError } from './lancedb-errors.ts';

export interface Optimized {
  readonly versionsPruned: number;
  readonly bytesPruned: number;
}

/**
 * LanceDB's optimize(): compaction, pruning of versions past VERSION_RETENTION and index update, each its own commit.
 * Works on a fresh handle: after a conflict an old one would fail for ever.
 */
export async function optimizeTable(context: WorkContext, dependencies: WorkDependencies): Promise<Optimized> {
  const table = await dependencies.lancedb.openTable(context.target);
  try {
    await context.fence();
    const cleanupOlderThan = new Date(await pruneBefore(table, context, dependencies));
    const { prune } = await context.native(() => table.optimize({ cleanupOlderThan }));
    return { versionsPruned: prune.oldVersionsRemoved, bytesPruned: prune.bytesRemoved };
  } catch (error) {
    throw lancedbError(error, `optimizing ${context.target}`);
  } finally {
    table.close();
  }
}

/**
 * Versions older than this may go. LanceDB fails the whole call when a tagged version is among them, so pruning stops at
 * the oldest tag.
 */
async function pruneBefore(table: Table, context: WorkContext, dependencies: WorkDependencies): Promise<number> {
  let limit = dependencies.now() - dependencies.settings.versionRetentionMs;
  const tags = await (await table.tags()).list();
  for (const { version } of Object.values(tags)) {
    const tagged = await readManifestAt(dependencies.storageFor(context.target), version);
    if (tagged) limit = Math.min(limit, tagged.timestamp);
  }
  return limit;
}
