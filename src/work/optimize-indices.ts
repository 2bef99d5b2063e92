import { assertNoBranches } from '../lance/branches.ts';
import { tableNotFound } from '../lance/errors.ts';
import { holdIn } from '../lance/hold.ts';
import { withoutLostIndexes } from '../lance/missing-files.ts';
import { readNewestManifest } from '../lance/newest.ts';
import { assertWritable } from '../lance/support.ts';
import { commitWatermark } from '../lance/watermark.ts';
import type { WorkResult } from '../tasks/task.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { behind, type Extended, extendIndexes } from './extend-indexes.ts';
import { removeLeftHold } from './hold.ts';
import { tableProof } from './proof.ts';

/**
 * Extends every index over the rows outside of it and rewrites no data; then notes for the MemWAL's readers which
 * generations the indexes have caught up with, which lets the merged ones go. Removes a hold that was left behind.
 * An index that cannot be extended is named in the result's `problems`; the others are. Commits nothing when there is
 * nothing to do. Errors: INDEX_COVERAGE_LOST, HOLD_CONFLICT, COMMIT_CONFLICT and those of the manifests.
 */
export async function optimizeIndices(context: WorkContext, dependencies: WorkDependencies): Promise<WorkResult> {
  const store = dependencies.storageFor(context.target);
  const before = await readNewestManifest(store);
  if (!before) throw tableNotFound(store.uri);
  assertWritable(before);
  const versionBefore = await context.baseVersion(before.version);
  const wanted = behind(await withoutLostIndexes(store, before));
  const left = holdIn(before) !== undefined;
  if (wanted.length > 0 || left) await assertNoBranches(store);

  let extended: Extended = { head: before, rebuilt: [], problems: [] };
  if (wanted.length > 0) {
    context.progress(`extending ${wanted.map(({ name }) => name).join(', ')}`);
    extended = await extendIndexes(context, dependencies);
  } else if (left) {
    await removeLeftHold(context, dependencies);
  }
  await recordCatchUp(context, dependencies);
  const after = (await readNewestManifest(store)) ?? extended.head;
  const { problems, rebuilt } = extended;
  const names = problems.map(({ subject, code }) => `${code}: ${subject}`);
  return {
    ...(problems.length > 0 ? { partial: names.join('; '), problems } : {}),
    rewroteNothing: after.version === before.version,
    versionBefore,
    versionAfter: after.version,
    metrics: {
      indexes_extended: wanted.length - problems.length - rebuilt.length,
      indexes_rebuilt: rebuilt.length,
      indexes_left: problems.length,
    },
    proof: { ...tableProof(before, after), rebuilt },
  };
}

/** Where all rows are indexed without a commit of LanceDB's that says so, merged generations would wait for ever. */
async function recordCatchUp(context: WorkContext, dependencies: WorkDependencies): Promise<void> {
  const store = dependencies.storageFor(context.target);
  const head = await readNewestManifest(store);
  if (!head?.memWal || head.memWal.compacted.size === 0) return;
  await commitWatermark(store, {
    watermarks: new Map(),
    catchUpWhenIndexed: true,
    beforePut: () => context.fence(),
    signal: context.signal,
    now: dependencies.now,
  });
}
