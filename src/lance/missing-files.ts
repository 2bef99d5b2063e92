import { UpkeepError } from '../errors.ts';
import { isHold } from './hold.ts';
import { FRAGMENT_REUSE_INDEX, MEM_WAL_INDEX } from './index-section.ts';
import type { TableManifest } from './manifest.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * Indexes that the manifest names and whose files are gone, each with the first of them. One listing, and none for a table without
 * indexes. A cleanup may be taking files of an old version away: only of the newest version is what is missing really lost.
 */
export async function missingIndexFiles(
  store: ObjectStore,
  manifest: TableManifest,
): Promise<ReadonlyMap<string, string>> {
  const missing = new Map<string, string>();
  // Bookkeeping of the table and holds have no files.
  const bookkeeping = [MEM_WAL_INDEX, FRAGMENT_REUSE_INDEX];
  const entries = manifest.indexes.filter((entry) => !bookkeeping.includes(entry.name) && !isHold(entry));
  if (entries.length === 0) return missing;
  const present = new Set((await store.list('_indices/')).objects.map(({ key }) => key));
  const folders = new Set([...present].map((key) => key.split('/')[1]));
  for (const { name, uuid, files, fragments } of entries) {
    const first = files.map(({ path }) => `_indices/${uuid}/${path}`).find((key) => !present.has(key));
    // Writers of old recorded no files; then an index that covers something has at least one.
    const empty = files.length === 0 && (fragments?.size ?? 0) > 0 && !folders.has(uuid);
    const gone = first ?? (empty ? `_indices/${uuid}/` : undefined);
    if (gone !== undefined && !missing.has(name)) missing.set(name, gone);
  }
  return missing;
}

/** The manifest as its indexes really are: one whose files are gone covers nothing. */
export async function withoutLostIndexes(store: ObjectStore, manifest: TableManifest): Promise<TableManifest> {
  const missing = await missingIndexFiles(store, manifest);
  if (missing.size === 0) return manifest;
  const indexes = manifest.indexes.map((entry) =>
    missing.has(entry.name) ? { ...entry, fragments: new Set<number>() } : entry,
  );
  return { ...manifest, indexes };
}

/** Keys of data and deletion files that the manifest names and that are gone. One listing of each folder: as costly as the table is large. */
export async function missingDataFiles(store: ObjectStore, manifest: TableManifest): Promise<readonly string[]> {
  const data = manifest.fragments.flatMap(({ files }) =>
    files.flatMap(({ path, baseId }) => (baseId === undefined ? [`data/${path}`] : [])),
  );
  const deletions = manifest.fragments.flatMap(({ deletionFile }) => deletionFile ?? []);
  return [...(await absent(store, 'data/', data)), ...(await absent(store, '_deletions/', deletions))];
}

async function absent(store: ObjectStore, prefix: string, named: readonly string[]): Promise<readonly string[]> {
  if (named.length === 0) return [];
  const present = new Set((await store.list(prefix)).objects.map(({ key }) => key));
  return named.filter((key) => !present.has(key));
}

/** An index whose files are gone. `ofKey`: IndexId builds that one anew; OptimizeIndices only those without parameters. */
export function indexFilesMissing(uri: string, name: string, file: string, ofKey: boolean): UpkeepError {
  return new UpkeepError(`The index ${name} of ${uri} is in the manifest, but its file ${file} is gone.`, {
    code: 'INDEX_FILES_MISSING',
    disposition: ofKey ? 'failure' : 'permanent',
    next: ofKey
      ? 'No row is lost. The next sweep asks for an IndexId, which builds it anew; `lance-upkeep send IndexId` does so now.'
      : `No row is lost. The next sweep asks for an OptimizeIndices, which builds a scalar index anew; build any other with its own parameters: table.createIndex(column, { config: ..., name: ${JSON.stringify(name)}, replace: true }).`,
    details: { file, index: name },
  });
}

export function tableFilesMissing(uri: string, version: number, files: readonly string[]): UpkeepError {
  const more = files.length === 1 ? '' : ` and ${files.length - 1} more`;
  return new UpkeepError(
    `Version ${version} of ${uri} names ${files[0]}${more}, which ${files.length === 1 ? 'is' : 'are'} gone.`,
    {
      code: 'TABLE_FILES_MISSING',
      disposition: 'permanent',
      next: 'Restore the files from a backup or from the bucket’s versions: their rows are nowhere else. Or go back to a version that is whole, with table.checkout(version) and table.restore().',
      details: { files: files.slice(0, 20), version },
    },
  );
}
