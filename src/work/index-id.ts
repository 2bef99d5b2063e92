import { errorRecord } from '../errors.ts';
import { assertNoBranches } from '../lance/branches.ts';
import { holdIn } from '../lance/hold.ts';
import { bytesOf, queryIndexes } from '../lance/index-coverage.ts';
import { canHaveBTree } from '../lance/key-index.ts';
import { missingIndexFiles } from '../lance/missing-files.ts';
import type { WorkResult } from '../tasks/task.ts';
import { buildKeyIndex } from './build-key-index.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { assertCoverageKept } from './coverage.ts';
import { WorkError } from './errors.ts';
import { behind, extendIndexes } from './extend-indexes.ts';
import { type Gate, readGate } from './gate.ts';
import { removeLeftHold } from './hold.ts';
import { tableProof } from './proof.ts';

/** A key and its row address in a BTree: about this many bytes a row are read and written by a new build. */
const BUILD_BYTES_PER_ROW = 32;
/** So many keys are sorted at once in little memory, and a new build is one commit where an extension is three. */
const ROWS_TO_BUILD_AT_ONCE = 1_000_000;

/**
 * Makes the BTree on the key column present and covering every fragment. Commits nothing when it is so already.
 * Builds it anew, which reads only the key column; on a large table it is extended, and every other index with it, where
 * that rewrites no more than a build would. Errors: INDEX_NOT_BUILT, COMMIT_CONFLICT and those of the manifests.
 */
export async function indexId(context: WorkContext, dependencies: WorkDependencies): Promise<WorkResult> {
  const store = dependencies.storageFor(context.target);
  const gate = await readGate(store);
  assertIndexable(gate);
  const versionBefore = await context.baseVersion(gate.manifest.version);
  // What is asked for by name is looked at: a BTree whose files are gone covers nothing.
  const lost = (await missingIndexFiles(store, gate.manifest)).has(gate.keyIndex?.name ?? '');
  const strategy = lost ? 'build' : strategyFor(gate);
  let after = gate;
  if (strategy !== 'none') await assertNoBranches(store);
  if (strategy === 'extend') {
    context.progress(`extending ${gate.keyIndex?.name} over ${gate.keyIndex?.uncoveredFragments} fragments`);
    try {
      await extendIndexes(context, dependencies);
    } catch (error) {
      // Another index may be the reason; the key's own is built without it.
      const { code, message, disposition } = errorRecord(error);
      if (disposition !== 'failure' || context.signal.aborted) throw error;
      context.progress(`the indexes were not extended: ${code}: ${message}`);
    }
    after = await readGate(store);
  } else if (strategy === 'build' && holdIn(gate.manifest)) {
    await removeLeftHold(context, dependencies);
  }
  if (strategy === 'build' || (strategy === 'extend' && !covers(after))) {
    context.progress(`building the BTree on ${gate.keyColumn} over ${after.manifest.fragments.length} fragments`);
    after = await buildKeyIndex(context, dependencies, after);
  }
  await assertCoverageKept(store, gate.manifest, after.manifest);
  return {
    rewroteNothing: strategy === 'none',
    versionBefore,
    versionAfter: after.manifest.version,
    metrics: { index_built: strategy === 'build' ? 1 : 0, index_extended: strategy === 'extend' ? 1 : 0 },
    proof: { ...tableProof(gate.manifest, after.manifest), strategy },
  };
}

/** How the key's index gets to cover every row: by nothing, an extension of all indexes, or a build of this one. */
export function strategyFor(gate: Gate): 'none' | 'extend' | 'build' {
  if (covers(gate)) return 'none';
  if (gate.coverage !== 'covering' || gate.manifest.liveRows <= ROWS_TO_BUILD_AT_ONCE) return 'build';
  const indexes = queryIndexes(gate.manifest);
  const rewritten = behind(gate.manifest).reduce((sum, { name }) => sum + bytesOf(indexes.get(name) ?? []), 0);
  return rewritten <= 2 * gate.manifest.liveRows * BUILD_BYTES_PER_ROW ? 'extend' : 'build';
}

/** What LanceDB cannot build is said once, and not tried again and again. */
function assertIndexable({ manifest, keyColumn }: Gate): void {
  const type = manifest.fields.find((field) => field.parentId < 0 && field.name === keyColumn)?.logicalType ?? '';
  if (canHaveBTree(type)) return;
  throw new WorkError('KEY_TYPE_UNSUPPORTED', `No BTree can stand on the key column "${keyColumn}": it is ${type}.`, {
    disposition: 'permanent',
    next: 'Nothing is wrong with the table. To have its key indexed, give the column the type string or an integer type.',
  });
}

function covers(gate: Gate): boolean {
  return gate.keyIndex?.exact === true && gate.keyIndex.uncoveredFragments === 0;
}
