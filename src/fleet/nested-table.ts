import type { ListOptions, ObjectStore, ObjectSummary } from '../lance/object-store.ts';

/** The part of a table below `prefix` (which ends in `/`) as a table of its own: a table in a root, a generation in a table. */
export function nestedTable(store: ObjectStore, prefix: string): ObjectStore {
  const cut = (summary: ObjectSummary) => ({ ...summary, key: summary.key.slice(prefix.length) });
  return {
    uri: `${store.uri}/${prefix.replace(/\/$/, '')}`,
    get: (key) => store.get(prefix + key),
    getRange: (key, start, length) => store.getRange(prefix + key, start, length),
    async head(key) {
      const summary = await store.head(prefix + key);
      return summary === undefined ? undefined : cut(summary);
    },
    async list(within: string, options?: ListOptions) {
      const startAfter = options?.startAfter === undefined ? {} : { startAfter: prefix + options.startAfter };
      const listing = await store.list(prefix + within, { ...options, ...startAfter });
      return {
        objects: listing.objects.map(cut),
        prefixes: listing.prefixes.map((name) => name.slice(prefix.length)),
        truncated: listing.truncated,
      };
    },
    putIfAbsent: (key, bytes) => store.putIfAbsent(prefix + key, bytes),
    delete: (key) => store.delete(prefix + key),
  };
}
