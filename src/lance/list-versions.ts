import { parseManifestKey, VERSIONS_PREFIX } from './manifest-names.ts';
import type { ListedManifest } from './newest.ts';
import type { ObjectStore, ObjectSummary } from './object-store.ts';

export interface ListedVersion extends ListedManifest {
  /** Bytes. */
  readonly size: number;
}

export interface VersionListing {
  /** Newest first. */
  readonly versions: readonly ListedVersion[];
  /** Manifests outside of the line of versions, `d<number>.manifest`. */
  readonly detached: readonly ObjectSummary[];
}

const PAGE = 10_000;
const DETACHED = /^_versions\/d\d{1,20}\.manifest$/;

/** Everything under `_versions/` that is a manifest, in pages, so that a million versions fit. */
export async function listVersions(store: ObjectStore): Promise<VersionListing> {
  const versions: ListedVersion[] = [];
  const detached: ObjectSummary[] = [];
  let startAfter: string | undefined;
  for (;;) {
    const page = await store.list(VERSIONS_PREFIX, {
      maxKeys: PAGE,
      ...(startAfter !== undefined && { startAfter }),
    });
    for (const object of page.objects) {
      const named = parseManifestKey(object.key);
      if (named) versions.push({ ...named, key: object.key, modified: object.modified, size: object.size });
      else if (DETACHED.test(object.key)) detached.push(object);
    }
    startAfter = page.objects.at(-1)?.key;
    if (!page.truncated || startAfter === undefined) break;
  }
  // V2 names come in this order already, V1 names do not.
  return { versions: versions.sort((a, b) => b.version - a.version), detached };
}
