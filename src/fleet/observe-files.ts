import { errorRecord } from '../errors.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { indexFilesMissing, missingDataFiles, missingIndexFiles, tableFilesMissing } from '../lance/missing-files.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { IndexFacts, TableFacts } from './facts.ts';

/**
 * Adds to the facts what became of the files of the indexes: one listing, so only where a look lists anyway. The key's own index is built
 * anew by its rule; of another one whose files are gone, the facts carry the error.
 */
export async function withIndexFiles(
  store: ObjectStore,
  manifest: TableManifest,
  facts: TableFacts,
): Promise<TableFacts> {
  const missing = await missingIndexFiles(store, manifest);
  const checked = { ...facts, filesCheckedAt: facts.observedAt };
  if (missing.size === 0) return checked;
  const { keyIndex } = facts;
  const ofKey = keyIndex !== null && missing.has(keyIndex.name);
  const [other] = [...missing].filter(([name]) => name !== keyIndex?.name);
  return {
    ...checked,
    indexes: facts.indexes.map((index) => (missing.has(index.name) ? indexCoveringNothing(index, facts) : index)),
    ...(ofKey ? { keyIndex: coveringNothing(keyIndex, facts) } : {}),
    ...(other && facts.error === undefined
      ? { error: errorRecord(indexFilesMissing(facts.target, other[0], other[1], false)) }
      : {}),
  };
}

function coveringNothing(keyIndex: NonNullable<TableFacts['keyIndex']>, facts: TableFacts): TableFacts['keyIndex'] {
  const { fragments, rows } = facts;
  return { ...keyIndex, filesMissing: true, coveredFragments: 0, uncoveredFragments: fragments, unindexedRows: rows };
}

function indexCoveringNothing(index: IndexFacts, { rows, fragments, observedAt }: TableFacts): IndexFacts {
  return {
    ...index,
    filesMissing: true,
    rowsOutside: rows,
    uncoveredFragments: fragments,
    firstFragmentOutside: index.firstFragmentOutside ?? 0,
    outsideSince: index.outsideSince ?? observedAt,
  };
}

/** Adds the error of lost data or deletion files: lists both folders whole, so only where a person asks about one table. */
export async function withDataFiles(store: ObjectStore, facts: TableFacts): Promise<TableFacts> {
  const manifest = await readNewestManifest(store);
  if (manifest?.version !== facts.version || facts.error !== undefined) return facts;
  const lost = await missingDataFiles(store, manifest);
  if (lost.length === 0 || (await readNewestManifest(store))?.version !== facts.version) return facts;
  return { ...facts, error: errorRecord(tableFilesMissing(facts.target, facts.version, lost)) };
}
