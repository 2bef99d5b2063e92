import { posix } from 'node:path';
import { errorRecord, UpkeepError } from '../errors.ts';
import { type Discovery, discoverCandidates } from '../fleet/discover.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { claimRoot, foreignOwner, OWNER_KEY, type RootOwner } from './root-owner.ts';

export interface RootOwnershipOptions {
  /** The object store rooted at a canonical URI: a root, a folder around it or inside of it. */
  readonly storageFor: (uri: string) => ObjectStore;
  /** This ledger, as its markers name it. */
  readonly owner: () => Promise<RootOwner>;
  readonly now: () => number;
}

/** That this ledger alone has tables under a root: the one implementation, embedded and deployed. */
export interface RootOwnership {
  /**
   * Looks at the root's own marker, those of the folders around it and those of the roots inside of it; makes its own where
   * there is none. Answers what lies below the root, so that a sweep lists it once.
   * @throws UpkeepError ROOT_OWNED, ROOT_OWNER_UNREADABLE (permanent), ROOT_OWNER_HIDDEN (failure), ROOT_OWNER_MOVED (contention).
   */
  assertOwned(root: string): Promise<Discovery>;
}

export function createRootOwnership({ storageFor, owner, now }: RootOwnershipOptions): RootOwnership {
  async function assertRelativesNotForeign(root: string, { ledgerId }: RootOwner): Promise<Discovery> {
    for (const folder of foldersAround(root)) await assertNotForeign(storageFor(folder), ledgerId);
    const discovery = await discoverCandidates(storageFor(root));
    for (const inner of discovery.innerRoots) await assertNotForeign(storageFor(inner), ledgerId);
    return discovery;
  }

  return {
    async assertOwned(root) {
      const us = await owner();
      const store = storageFor(root);
      const marker = await assertNotForeign(store, us.ledgerId);
      // Looked at before the marker is written: a newcomer that is refused must leave nothing that would refuse the others.
      const discovery = await assertRelativesNotForeign(root, us);
      if (marker === 'ours') return discovery;
      if ((await claimRoot(store, us, now())) === 'already ours') return discovery;
      try {
        // Again, since another ledger may have done the same in this moment: of two that write first and look then, one sees the other.
        return await assertRelativesNotForeign(root, us);
      } catch (error) {
        await store.delete(OWNER_KEY);
        throw error;
      }
    },
  };
}

/** The folders that a root lies in, nearest first: up to `/` on the disk, up to the bucket on S3. */
export function foldersAround(root: string): readonly string[] {
  const [, bucket, path = ''] = /^(s3:\/\/[^/]+)(?:\/(.*))?$/.exec(root) ?? [];
  const around: string[] = [];
  if (bucket !== undefined) {
    const folders = path.split('/').slice(0, -1);
    for (let count = folders.length; count > 0; count -= 1)
      around.push(`${bucket}/${folders.slice(0, count).join('/')}`);
    return path === '' ? [] : [...around, bucket];
  }
  for (let folder = root; folder !== posix.dirname(folder); ) {
    folder = posix.dirname(folder);
    around.push(folder);
  }
  return around;
}

/** The places of all markers that decide about a root before anything is listed: its own, then those around it. */
export function markersAbove(root: string): readonly string[] {
  return [root, ...foldersAround(root)].map((folder) => `${folder}/${OWNER_KEY}`);
}

async function assertNotForeign(store: ObjectStore, ledgerId: string): Promise<'ours' | 'nobody’s'> {
  let bytes: Uint8Array | undefined;
  try {
    bytes = await store.get(OWNER_KEY);
  } catch (error) {
    if (errorRecord(error).code !== 'STORE_ACCESS_DENIED') throw error;
    // S3 may answer 403 for what is absent; a listing of that one key tells it apart.
    if (await isAbsent(store, error)) return 'nobody’s';
    throw ownerHidden(store.uri, error);
  }
  if (bytes === undefined) return 'nobody’s';
  const foreign = foreignOwner(store.uri, bytes, ledgerId);
  if (foreign) throw foreign;
  return 'ours';
}

async function isAbsent(store: ObjectStore, denied: unknown): Promise<boolean> {
  try {
    return (await store.list(OWNER_KEY, { maxKeys: 1 })).objects.length === 0;
  } catch (error) {
    if (errorRecord(error).code === 'STORE_ACCESS_DENIED') throw ownerHidden(store.uri, denied);
    throw error;
  }
}

function ownerHidden(uri: string, cause: unknown): UpkeepError {
  return new UpkeepError(`Nobody can tell whether another ledger owns ${uri}: its owner marker may not be read.`, {
    code: 'ROOT_OWNER_HIDDEN',
    disposition: 'failure',
    next: `Allow s3:GetObject on ${uri}/${OWNER_KEY}, and s3:ListBucket with that key as the prefix.`,
    cause,
    details: { uri },
  });
}
