import { readsGenerations } from '../lance/collectable.ts';
import { holdIn } from '../lance/hold.ts';
import { indexCoverage } from '../lance/index-coverage.ts';
import type { TableManifest } from '../lance/manifest.ts';
import type { IndexFacts, ShardFacts, TableFacts } from './facts.ts';

/**
 * What the manifest tells of every index, and how long rows have been outside of it: since the version that was the newest
 * when the oldest of those fragments was first seen there, which `previous` remembers.
 */
export function observeIndexes(
  manifest: TableManifest,
  shards: readonly ShardFacts[],
  previous: TableFacts | undefined,
): readonly IndexFacts[] {
  return indexCoverage(manifest).map((index): IndexFacts => {
    const { name, kind, columns, segments, rowsOutside, uncoveredFragments, bytes, outside } = index;
    const first = outside.length === 0 ? null : Math.min(...outside);
    const before = previous?.indexes.find((one) => one.name === name);
    const known = before?.firstFragmentOutside === first ? before.outsideSince : null;
    return {
      name,
      kind,
      columns,
      segments,
      rowsOutside,
      uncoveredFragments,
      firstFragmentOutside: first,
      outsideSince: first === null ? null : (known ?? manifest.timestamp),
      bytes,
      generationsBehind: readsGenerations(kind) ? generationsBehind(manifest, name, shards) : 0,
    };
  });
}

export function holdFacts(manifest: TableManifest): TableFacts['hold'] {
  const hold = holdIn(manifest);
  return hold === undefined ? null : { createdAt: hold.createdAt, heldFragments: hold.fragments.size };
}

/** Merged generations that are still listed and above what this index has caught up with, over all shards. */
function generationsBehind(manifest: TableManifest, name: string, shards: readonly ShardFacts[]): number {
  const caughtUp = manifest.memWal?.catchUp.get(name);
  return shards.reduce((sum, { shardId, watermark, mergedGenerations }) => {
    const behind = watermark - (caughtUp?.get(shardId) ?? 0);
    return sum + Math.min(mergedGenerations, Math.max(0, behind));
  }, 0);
}
