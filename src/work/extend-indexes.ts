import type { Index as LancedbIndex } from '@lancedb/lancedb';
import { errorRecord, type UpkeepError } from '../errors.ts';
import { type IndexCoverage, indexCoverage, queryIndexes } from '../lance/index-coverage.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { withoutLostIndexes } from '../lance/missing-files.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { Problem } from '../tasks/task.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { assertCoverageKept } from './coverage.ts';
import { withHold } from './hold.ts';
import { columnPath } from './index-columns.ts';
import { indexProblem, unreadableIndexes } from './index-problems.ts';
import { lancedbError } from './lancedb-errors.ts';
import { optimizeTable } from './optimize.ts';

/** Kinds that have no parameters: built anew they answer as before. */
const REBUILDABLE = ['BTree', 'Bitmap', 'LabelList'] as const;

export interface Extended {
  readonly head: TableManifest;
  /** Names of indexes that were built anew, since LanceDB could not extend them. */
  readonly rebuilt: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * Extends every index over the rows outside of it: optimize() under a hold over all fragments, so that no data is
 * rewritten. LanceDB passes over an index that it cannot open, and gives up altogether on one that it cannot merge; scalar
 * indexes that are left behind are then built anew one by one, and the others are named as problems.
 * Throws what optimize() threw when no index is to blame, and INDEX_COVERAGE_LOST.
 */
export async function extendIndexes(context: WorkContext, dependencies: WorkDependencies): Promise<Extended> {
  const first = await extendOnce(context, dependencies);
  let { head, failure } = first;
  const { known } = first;
  const rebuilt: string[] = [];
  const problems = new Map<string, Problem>();
  const store = dependencies.storageFor(context.target);
  for (const index of behind(await withoutLostIndexes(store, head), known).filter(isRebuildable)) {
    try {
      await rebuildIndex(context, dependencies, head, index);
      rebuilt.push(index.name);
    } catch (error) {
      if (errorRecord(error).disposition === 'contention' || context.signal.aborted) throw error;
      problems.set(index.name, indexProblem(head, index.name, errorRecord(error).message));
    }
  }
  // One of those may have been what kept LanceDB from extending the rest.
  if (failure && rebuilt.length > 0) ({ head, failure } = await extendOnce(context, dependencies));
  else head = (await readNewestManifest(store)) ?? head;

  const left = behind(await withoutLostIndexes(store, head), known).map(({ name }) => name);
  const unreadable = await (left.length > 0 ? unreadableIndexes(context, dependencies, head, left) : []);
  if (failure && unreadable.length === 0 && problems.size === 0) throw failure;
  for (const problem of unreadable) problems.set(problem.subject, problem);
  const blamed = [...problems.keys()].join(', ');
  for (const name of left) {
    if (problems.has(name)) continue;
    const reason = blamed ? `LanceDB extends no further index before ${blamed} is repaired` : 'LanceDB passed over it';
    problems.set(name, indexProblem(head, name, reason));
  }
  return { head, rebuilt, problems: [...problems.values()] };
}

interface Attempted {
  readonly head: TableManifest;
  /** Fragments that were there when it began: rows that came later are for the next time. */
  readonly known: ReadonlySet<number>;
  readonly failure: UpkeepError | undefined;
}

async function extendOnce(context: WorkContext, dependencies: WorkDependencies): Promise<Attempted> {
  const store = dependencies.storageFor(context.target);
  return withHold(context, dependencies, async (holdAllBut) => {
    const held = await holdAllBut([]);
    let failure: UpkeepError | undefined;
    try {
      await optimizeTable(context, dependencies);
    } catch (error) {
      failure = lancedbError(error, `extending the indexes of ${context.target}`);
      if (failure.disposition === 'contention' || context.signal.aborted) throw failure;
    }
    const head = (await readNewestManifest(store)) ?? held;
    await assertCoverageKept(store, held, head);
    return { head, known: new Set(held.fragments.map(({ id }) => id)), failure };
  });
}

/** Indexes that leave live rows outside, counting only the fragments of `known`. */
export function behind(manifest: TableManifest, known?: ReadonlySet<number>): readonly IndexCoverage[] {
  const fragments = manifest.fragments.filter(({ id }) => known?.has(id) ?? true);
  return indexCoverage({ ...manifest, fragments }).filter(({ rowsOutside }) => rowsOutside > 0);
}

function isRebuildable({ kind }: IndexCoverage): boolean {
  return REBUILDABLE.some((one) => one === kind);
}

async function rebuildIndex(
  context: WorkContext,
  dependencies: WorkDependencies,
  manifest: TableManifest,
  { name, kind }: IndexCoverage,
): Promise<void> {
  const { Index } = await import('@lancedb/lancedb');
  const configs: Readonly<Record<string, () => LancedbIndex>> = {
    BTree: () => Index.btree(),
    Bitmap: () => Index.bitmap(),
    LabelList: () => Index.labelList(),
  };
  const column = columnPath(manifest, queryIndexes(manifest).get(name)?.[0]?.fieldIds[0] ?? -1);
  const config = configs[kind]?.();
  context.progress(`building ${name} on ${column} anew, since it was not extended`);
  const table = await dependencies.lancedb.openTable(context.target);
  try {
    await context.fence();
    await context.native(() => table.createIndex(column, { ...(config ? { config } : {}), name, replace: true }));
  } catch (error) {
    throw lancedbError(error, `building ${name} on ${column}`);
  } finally {
    table.close();
  }
}
