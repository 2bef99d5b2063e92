import { assertNoBranches } from '../lance/branches.ts';
import { tableNotFound } from '../lance/errors.ts';
import { holdIn } from '../lance/hold.ts';
import { hasIndexableKey } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readManifestAt, readNewestManifest } from '../lance/newest.ts';
import { type CompactionPass, planPass } from '../lance/rewrite-prediction.ts';
import { assertWritable } from '../lance/support.ts';
import type { CompactionMetrics, WorkResult } from '../tasks/task.ts';
import { boundedCompaction } from './bounded-compaction.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { removeLeftHold } from './hold.ts';
import { assertIndexFiles } from './lost-files.ts';
import { optimizeFragments } from './optimize.ts';
import { fragmentChange, tableProof } from './proof.ts';

/**
 * Compacts small and half-deleted fragments. `optimize()` while what Lance would rewrite fits COMPACT_MAX_BYTES, else
 * group by group under a hold; both chosen from the manifest before any data is read. Every index keeps its coverage.
 * Commits nothing on a table that needs nothing. What is too large for the limit is not begun; the proof says how many
 * fragments. Errors: INDEX_FILES_MISSING, INDEX_COVERAGE_LOST, HOLD_CONFLICT, COMMIT_CONFLICT and those of the manifests.
 */
export async function compact(context: WorkContext, dependencies: WorkDependencies): Promise<WorkResult> {
  const started = dependencies.now();
  const store = dependencies.storageFor(context.target);
  const manifest = await readNewestManifest(store);
  if (!manifest) throw tableNotFound(store.uri);
  assertWritable(manifest);
  const versionBefore = await context.baseVersion(manifest.version);
  const pass = planPass(manifest, dependencies.settings);
  const left = await rewrite(context, dependencies, manifest, pass);

  const after = (await readNewestManifest(store)) ?? manifest;
  // A retry counts from where the first attempt began: what that one had committed must still lead to its index run.
  const origin =
    versionBefore === manifest.version ? manifest : ((await readManifestAt(store, versionBefore)) ?? manifest);
  const change = fragmentChange(origin, after);
  const proof = tableProof(origin, after);
  const compaction: CompactionMetrics = {
    fragmentsRemoved: change.removed,
    fragmentsAdded: change.added,
    bytesRead: change.removedBytes,
    bytesWritten: proof.bytesWritten,
    durationMs: dependencies.now() - started,
    versionBefore,
    versionAfter: after.version,
    strategy: pass.strategy,
    indexable: hasIndexableKey(after),
  };
  return {
    ...(left > 0
      ? {
          partial: `${left} groups of fragments left for the next pass`,
          followUp: { kind: 'Compact', reason: 'fragments-remaining' },
        }
      : {}),
    rewroteNothing: after.version === versionBefore,
    versionBefore,
    versionAfter: after.version,
    metrics: { compact_fragments_removed: change.removed, compact_fragments_added: change.added },
    compaction,
    proof: { ...proof, strategy: pass.strategy, predictedBytes: finite(pass.bytes), tooLargeFragments: pass.tooLarge },
  };
}

/** Answers how many groups were left for want of time. */
async function rewrite(
  context: WorkContext,
  dependencies: WorkDependencies,
  manifest: TableManifest,
  pass: CompactionPass,
): Promise<number> {
  const left = holdIn(manifest) !== undefined;
  if (pass.strategy === 'none' && !left) return 0;
  await assertNoBranches(dependencies.storageFor(context.target));
  const head = left ? await removeLeftHold(context, dependencies) : manifest;
  if (pass.strategy === 'none') return 0;
  await assertIndexFiles(dependencies.storageFor(context.target), head);
  context.progress(`${pass.strategy}: rewriting ${pass.fragments} of ${manifest.fragments.length} fragments`);
  if (pass.strategy === 'bounded') return boundedCompaction(context, dependencies, head);
  await optimizeFragments(context, dependencies, head, pass.groups.flat());
  return 0;
}

function finite(bytes: number): number | null {
  return Number.isFinite(bytes) ? bytes : null;
}
