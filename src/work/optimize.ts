import { errorRecord } from '../errors.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { assertCoverageKept } from './coverage.ts';
import { WorkError } from './errors.ts';
import { unreadableIndexes } from './index-problems.ts';
import { lancedbError } from './lancedb-errors.ts';

/** Older than any version: optimize() always prunes, and with this it finds nothing. Pruning is a kind of its own. */
const PRUNE_NOTHING = new Date(0);

/**
 * LanceDB's optimize(): compaction with all indexes remapped, then the extension of every index over the rows outside of
 * it, each its own commit. Works on a fresh handle: after a conflict an old one would fail for ever.
 */
export async function optimizeTable(context: WorkContext, dependencies: WorkDependencies): Promise<void> {
  const table = await dependencies.lancedb.openTable(context.target);
  try {
    await context.fence();
    await context.native(() => table.optimize({ cleanupOlderThan: PRUNE_NOTHING }));
  } catch (error) {
    throw lancedbError(error, `optimizing ${context.target}`);
  } finally {
    table.close();
  }
}

/**
 * optimize() for the sake of `fragments`, which it is about to rewrite. The extension of indexes comes after the
 * compaction's commit; when only that fails, the compaction stands, and OptimizeIndices deals with the index.
 * Answers the newest manifest. Throws INDEX_UNREADABLE where an index is the reason, INDEX_COVERAGE_LOST, COMMIT_CONFLICT.
 */
export async function optimizeFragments(
  context: WorkContext,
  dependencies: WorkDependencies,
  before: TableManifest,
  fragments: readonly number[],
): Promise<TableManifest> {
  const store = dependencies.storageFor(context.target);
  const readHead = async () => (await readNewestManifest(store)) ?? before;
  try {
    await optimizeTable(context, dependencies);
  } catch (error) {
    const { code, message, disposition } = errorRecord(error);
    const head = await readHead();
    const present = new Set(head.fragments.map(({ id }) => id));
    if (disposition === 'contention' || context.signal.aborted) throw error;
    if (fragments.every((id) => present.has(id))) throw await indexUnreadable(context, dependencies, head, error);
    context.progress(`the fragments are compacted, but not every index was extended: ${code}: ${message}`);
  }
  const after = await readHead();
  await assertCoverageKept(store, before, after);
  return after;
}

/** A compaction reads every index that covers its fragments; one that cannot be read is named instead of LanceDB's words. */
async function indexUnreadable(
  context: WorkContext,
  dependencies: WorkDependencies,
  head: TableManifest,
  error: unknown,
): Promise<unknown> {
  const [broken] = await unreadableIndexes(context, dependencies, head);
  if (!broken) return error;
  return new WorkError('INDEX_UNREADABLE', `The fragments were not compacted: ${broken.message}`, {
    disposition: 'permanent',
    ...(broken.next === undefined ? {} : { next: broken.next }),
    cause: error,
    details: { index: broken.subject },
  });
}
