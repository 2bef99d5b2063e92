import type { ObjectStore } from './object-store.ts';
import { type Reference, referencesOf } from './references.ts';

const MANIFESTS_AT_A_TIME = 16;

/**
 * Reads what each of these manifests names, some at a time and in no particular order, and keeps none of them.
 * One that is gone since it was listed was pruned by somebody else, and is left out.
 * Throws what `referencesOf` throws: an answer that leaves out a manifest which cannot be read would be wrong.
 */
export async function visitReferences<Listed extends { readonly key: string }>(
  store: ObjectStore,
  manifests: readonly Listed[],
  visit: (listed: Listed, references: readonly Reference[]) => void,
  signal?: AbortSignal,
): Promise<void> {
  const waiting = manifests.values();
  let failed = false;
  const reader = async () => {
    for (const listed of waiting) {
      if (failed) return;
      try {
        signal?.throwIfAborted();
        const bytes = await store.get(listed.key);
        if (bytes) visit(listed, referencesOf(listed.key, bytes));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MANIFESTS_AT_A_TIME, manifests.length) }, reader));
}
