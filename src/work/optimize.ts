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
    const cleanupOlderThan = new Date(dependencies.now() - dependencies.settings.versionRetentionMs);
    const { prune } = await context.native(() => table.optimize({ cleanupOlderThan }));
    return { versionsPruned: prune.oldVersionsRemoved, bytesPruned: prune.bytesRemoved };
  } catch (error) {
    throw lancedbError(error, `optimizing ${context.target}`);
  } finally {
    table.close();
  }
}
