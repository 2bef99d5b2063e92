import { coverageOf, keyColumnOf, keyIndexOf, logicalIndexes } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';

/**
 * - `index`: probe the BTree. LanceDB also reads every row outside of it, payload and all, into memory.
 * - `join`: read the key column of the whole table and no payload; some 150 bytes of memory for a row.
 * - `rebuild`: build the BTree anew first, then probe it.
 */
export type MergeStrategy = 'index' | 'join' | 'rebuild';

/** Up to here the rows outside of the BTree are read with each commit. */
const TAIL_BYTES = 32 * 1024 * 1024;

/** Up to here joining the key column is cheaper than building the BTree, in memory and in time. */
const JOIN_ROWS = 1_000_000;

/** How a mergeInsert on this version finds its keys. Merged rows land outside of the BTree, so each commit asks anew. */
export function mergeStrategy(manifest: TableManifest, mayRebuild: boolean): MergeStrategy {
  const index = keyIndexOf(manifest, keyColumnOf(manifest));
  if (!index?.exact) return 'join';
  const tail = bytesOutside(manifest, index.name);
  if (tail <= TAIL_BYTES) return 'index';
  if (manifest.liveRows <= JOIN_ROWS || !mayRebuild) return 'join';
  return 'rebuild';
}

function bytesOutside(manifest: TableManifest, indexName: string): number {
  const segments = logicalIndexes(manifest).get(indexName) ?? [];
  return manifest.fragments
    .filter((fragment) => coverageOf({ ...manifest, fragments: [fragment] }, segments).coveredFragments === 0)
    .reduce((sum, fragment) => sum + (fragment.bytes ?? Number.POSITIVE_INFINITY), 0);
}
