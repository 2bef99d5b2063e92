import { discoverStores } from '../fleet/discover.ts';
import { canonicalRoot } from '../fleet/targets.ts';
import { storageOf } from '../local/storage.ts';

/** The tables under the roots, found as the sweep finds them. */
export async function findTables(roots: readonly string[]): Promise<string[]> {
  const canonical = await Promise.all(roots.map(canonicalRoot));
  const { storageFor } = await storageOf(canonical, process.env);
  const targets: string[] = [];
  for (const root of canonical) targets.push(...(await discoverStores(storageFor(root))).targets);
  return targets;
}
