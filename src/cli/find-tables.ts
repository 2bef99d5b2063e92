import { discoverStores } from '../fleet/discover.ts';
import { canonicalRoot } from '../fleet/targets.ts';
import { createFileObjectStore } from '../local/file-object-store.ts';

/** The tables under roots on disk, found as the sweep finds them; roots that are URIs are left out. */
export async function findTables(roots: readonly string[]): Promise<string[]> {
  const targets: string[] = [];
  for (const root of roots) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(root)) continue;
    targets.push(...(await discoverStores(createFileObjectStore(await canonicalRoot(root)))));
  }
  return targets;
}
