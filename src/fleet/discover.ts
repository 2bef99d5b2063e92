import { type ErrorRecord, errorRecord } from '../errors.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { OWN_FOLDER } from './targets.ts';

export interface Discovery {
  /** Tables, or what is named like one, in key order. */
  readonly targets: readonly string[];
  /** Folders below the root that carry an owner marker's folder of their own: roots inside this root. */
  readonly innerRoots: readonly string[];
  /** Folders that could not be listed; everything beside them was. */
  readonly failed: readonly { readonly target: string; readonly error: ErrorRecord }[];
}

/**
 * The tables under a root, in key order: every `<name>.lance/` that holds `_versions/`, at any depth, but never inside of
 * another table or of this product's own folder. One listing per folder and one per table.
 */
export async function discoverStores(root: ObjectStore): Promise<Discovery> {
  const discovery = await discoverCandidates(root);
  const targets: string[] = [];
  const failed = [...discovery.failed];
  for (const target of discovery.targets) {
    try {
      const { objects } = await root.list(`${target.slice(root.uri.length + 1)}/_versions/`, { maxKeys: 1 });
      if (objects.length > 0) targets.push(target);
    } catch (error) {
      failed.push({ target, error: errorRecord(error) });
    }
  }
  return { ...discovery, targets, failed };
}

/**
 * The same without the look into each: one listing per folder. Some may turn out to be no tables. Throws only when the
 * root itself cannot be listed.
 */
export async function discoverCandidates(root: ObjectStore): Promise<Discovery> {
  const targets: string[] = [];
  const innerRoots: string[] = [];
  const failed: { target: string; error: ErrorRecord }[] = [];
  const folders = [''];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const prefix of await prefixesOf(root, folder, failed)) {
      const name = prefix.slice(folder.length, -1);
      if (name === OWN_FOLDER) {
        if (folder !== '') innerRoots.push(`${root.uri}/${folder.slice(0, -1)}`);
      } else if (name.endsWith('.lance')) targets.push(`${root.uri}/${prefix.slice(0, -1)}`);
      else folders.push(prefix);
    }
  }
  return { targets: targets.sort(), innerRoots, failed };
}

async function prefixesOf(
  root: ObjectStore,
  folder: string,
  failed: { target: string; error: ErrorRecord }[],
): Promise<readonly string[]> {
  try {
    return (await root.list(folder, { delimiter: '/' })).prefixes;
  } catch (error) {
    if (folder === '') throw error;
    failed.push({ target: `${root.uri}/${folder.slice(0, -1)}`, error: errorRecord(error) });
    return [];
  }
}
