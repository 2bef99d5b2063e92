import type { ObjectStore } from '../lance/object-store.ts';
import { OWN_FOLDER } from './targets.ts';

/**
 * The tables under a root, in key order: every `<name>.lance/` that holds `_versions/`, at any depth, but never inside of
 * another table or of this product's own folder. One listing per folder and one per table.
 */
export async function discoverStores(root: ObjectStore): Promise<readonly string[]> {
  const found: string[] = [];
  for (const target of await discoverCandidates(root)) {
    const { objects } = await root.list(`${target.slice(root.uri.length + 1)}/_versions/`, { maxKeys: 1 });
    if (objects.length > 0) found.push(target);
  }
  return found;
}

/** The same without the look into each: one listing per folder. Some may turn out to be no tables. */
export async function discoverCandidates(root: ObjectStore): Promise<readonly string[]> {
  const found: string[] = [];
  const folders = [''];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const { prefixes } = await root.list(folder, { delimiter: '/' });
    for (const prefix of prefixes) {
      const name = prefix.slice(folder.length, -1);
      if (name === OWN_FOLDER) continue;
      if (name.endsWith('.lance')) found.push(`${root.uri}/${prefix.slice(0, -1)}`);
      else folders.push(prefix);
    }
  }
  return found.sort();
}
