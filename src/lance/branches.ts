import { unsupported } from './errors.ts';
import type { ObjectStore } from './object-store.ts';

const BRANCHES_PREFIX = '_refs/branches/';

/**
 * Throws `MANIFEST_UNSUPPORTED` for a table that has branches: they share files with the main line, and what our commits
 * and the pruning of old versions do to them has not been tested. One listing; call it before any write.
 */
export async function assertNoBranches(store: ObjectStore): Promise<void> {
  const [reference] = (await store.list(BRANCHES_PREFIX, { maxKeys: 1 })).objects;
  if (reference) throw unsupported(reference.key, 'is a branch of this table', 'tables without branches');
}
