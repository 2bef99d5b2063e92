import { decodeManifest, type ManifestNaming, type TableManifest } from './manifest.ts';
import { manifestKey, parseManifestKey, V2_PREFIX, VERSIONS_PREFIX } from './manifest-names.ts';
import type { ObjectStore, ObjectSummary } from './object-store.ts';

export interface VersionKey {
  readonly version: number;
  readonly key: string;
  readonly naming: ManifestNaming;
}

export interface ListedManifest extends VersionKey {
  /** Epoch milliseconds by the object store's clock. */
  readonly modified: number;
}

/** A version seen earlier. `now`: epoch milliseconds, default the clock. */
export interface Remembered {
  readonly version: number;
  readonly now?: number;
}

const PAGE = 100;
/** Above this age of the remembered version, one LIST confirms that nothing newer hides behind a gap. */
const CONFIRM_AFTER_MS = 24 * 60 * 60 * 1000;
/** A cleanup may remove what a listing just named; a moment later the listing names something newer. */
const VANISHED_RETRIES = 5;

/**
 * The newest committed version: one LIST of one key with V2 names; V1 tables cost a listing of all versions.
 * Undefined when there is no table.
 */
export async function findNewestVersion(store: ObjectStore): Promise<VersionKey | undefined> {
  const { objects } = await store.list(V2_PREFIX, { maxKeys: 1 });
  const first = objects[0] && versionOf(objects[0]);
  if (first) return first;
  return (await listedNewestFirst(store))[0];
}

/**
 * Decodes the newest manifest; undefined when there is no table.
 * With `remembered`, the computable keys of the next versions are tried instead of a listing (versions are contiguous).
 * That can miss a newer version only where a cleanup removed the next one and a tag held the remembered one; a LIST
 * catches that once the remembered version is a day old. Before a write, call this without `remembered`.
 */
export async function readNewestManifest(
  store: ObjectStore,
  remembered?: Remembered,
): Promise<TableManifest | undefined> {
  if (remembered) {
    const followed = await follow(store, remembered);
    if (followed) return followed;
  }
  for (let attempt = 0; ; attempt++) {
    const newest = await findNewestVersion(store);
    if (!newest) return undefined;
    const bytes = await store.get(newest.key);
    if (bytes) return decodeManifest(newest.key, bytes);
    if (attempt === VANISHED_RETRIES) return undefined;
  }
}

async function follow(store: ObjectStore, remembered: Remembered): Promise<TableManifest | undefined> {
  let newest: { key: string; bytes: Uint8Array } | undefined;
  let version = remembered.version;
  for (;;) {
    const key = manifestKey(version + 1, 'V2');
    const bytes = await store.get(key);
    if (!bytes) break;
    newest = { key, bytes };
    version++;
  }
  if (!newest) {
    const key = manifestKey(version, 'V2');
    const bytes = await store.get(key);
    // Gone, or a table with V1 names: only a listing can tell.
    if (!bytes) return undefined;
    newest = { key, bytes };
  }
  const manifest = decodeManifest(newest.key, newest.bytes);
  const age = (remembered.now ?? Date.now()) - manifest.timestamp;
  return age > CONFIRM_AFTER_MS && (await findNewestVersion(store))?.version !== version ? undefined : manifest;
}

/** Undefined when that version is not there (any more). */
export async function readManifestAt(store: ObjectStore, version: number): Promise<TableManifest | undefined> {
  for (const naming of ['V2', 'V1'] as const) {
    const key = manifestKey(version, naming);
    const bytes = await store.get(key);
    if (bytes) return decodeManifest(key, bytes);
  }
  return undefined;
}

/** All listed versions, newest first. With V2 names pages are fetched as they are needed. */
export async function* listManifests(store: ObjectStore): AsyncGenerator<ListedManifest, void, undefined> {
  let startAfter: string | undefined;
  let found = false;
  for (;;) {
    const page = await store.list(V2_PREFIX, { maxKeys: PAGE, ...(startAfter !== undefined && { startAfter }) });
    for (const object of page.objects) {
      const listed = versionOf(object);
      if (!listed) continue;
      found = true;
      yield listed;
    }
    startAfter = page.objects.at(-1)?.key;
    if (!page.truncated || startAfter === undefined) break;
  }
  if (!found) yield* await listedNewestFirst(store);
}

function versionOf(object: ObjectSummary): ListedManifest | undefined {
  const named = parseManifestKey(object.key);
  return named && { ...named, key: object.key, modified: object.modified };
}

/** V1 names do not sort by version: all pages are needed. */
async function listedNewestFirst(store: ObjectStore): Promise<ListedManifest[]> {
  const { objects } = await store.list(VERSIONS_PREFIX);
  return objects
    .map(versionOf)
    .filter((listed) => listed !== undefined)
    .sort((a, b) => b.version - a.version);
}
