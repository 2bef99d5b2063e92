import { assertNoBranches } from '../lance/branches.ts';
import { predictOptimize } from '../lance/rewrite-prediction.ts';
import type { WorkResult } from '../tasks/task.ts';
import { buildKeyIndex } from './build-key-index.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { type Gate, readGate } from './gate.ts';
import { optimizeTable } from './optimize.ts';
import { tableProof } from './proof.ts';

/** A key and its row address in a BTree: about this many bytes a row are read and written by a new build. */
const BUILD_BYTES_PER_ROW = 32;

/**
 * Makes the BTree on the key column present and covering every fragment. Commits nothing when it is so already.
 * Extends it by `optimize()` where that rewrites less than a new build would read; else builds it anew, which reads
 * only the key column. Errors: INDEX_NOT_BUILT, COMMIT_CONFLICT and those of the manifests.
 */
export async function indexId(context: WorkContext, dependencies: WorkDependencies): Promise<WorkResult> {
  const gate = await readGate(dependencies.storageFor(context.target));
  const versionBefore = await context.baseVersion(gate.manifest.version);
  const way = wayFor(gate, dependencies.settings.compactMaxBytes);
  let after = gate;
  if (way !== 'none') await assertNoBranches(dependencies.storageFor(context.target));
  if (way === 'extend') {
    context.progress(`extending ${gate.keyIndex?.name} over ${gate.keyIndex?.uncoveredFragments} fragments`);
    await optimizeTable(context, dependencies);
    after = await readGate(dependencies.storageFor(context.target));
  }
  if (way === 'build' || (way === 'extend' && !covers(after))) {
    context.progress(`building the BTree on ${gate.keyColumn} over ${after.manifest.fragments.length} fragments`);
    after = await buildKeyIndex(context, dependencies, after);
  }
  return {
    rewroteNothing: way === 'none',
    versionBefore,
    versionAfter: after.manifest.version,
    metrics: { index_built: way === 'build' ? 1 : 0, index_extended: way === 'extend' ? 1 : 0 },
    proof: { ...tableProof(gate.manifest, after.manifest), way },
  };
}

function wayFor(gate: Gate, compactMaxBytes: number): 'none' | 'extend' | 'build' {
  if (covers(gate)) return 'none';
  if (gate.verdict !== 'covering') return 'build';
  const rewrite = predictOptimize(gate.manifest).bytes;
  return rewrite <= Math.min(compactMaxBytes, gate.manifest.liveRows * BUILD_BYTES_PER_ROW) ? 'extend' : 'build';
}

function covers(gate: Gate): boolean {
  return gate.keyIndex?.exact === true && gate.keyIndex.uncoveredFragments === 0;
}
