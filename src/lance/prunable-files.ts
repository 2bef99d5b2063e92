import type { ObjectStore } from './object-store.ts';

/** What pruning gives back, by what it was. */
export const FILE_CLASSES = ['manifests', 'data', 'deletions', 'indexes', 'transactions'] as const;
export type FileClass = (typeof FILE_CLASSES)[number];

/** A file below a table whose name is understood. `owner` is the name that manifests know it by, as in `Reference.name`. */
export interface OwnedFile {
  readonly key: string;
  readonly owner: string;
  readonly fileClass: FileClass;
  /** Bytes. */
  readonly size: number;
  readonly modified: number;
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** Anything else in these folders is another tool's, or newer than this code: it stays. So do blobs in `data/<file>/`. */
const shapes: readonly { readonly folder: string; readonly fileClass: FileClass; readonly owner: RegExp }[] = [
  { folder: 'data/', fileClass: 'data', owner: /^data\/[A-Za-z0-9_-]+\.lance$/ },
  { folder: '_deletions/', fileClass: 'deletions', owner: /^_deletions\/\d+-\d+-\d+\.(?:arrow|bin)$/ },
  { folder: '_indices/', fileClass: 'indexes', owner: new RegExp(`^_indices/${UUID}/(?=[^/]+$)`) },
  { folder: '_transactions/', fileClass: 'transactions', owner: new RegExp(`^_transactions/\\d+-${UUID}\\.txn$`) },
];

/** One listing page: large, since on a disk each page reads the folder anew. */
const PAGE = 20_000;

/** The owner of a key, and its class; undefined when the name is not understood. */
export function ownerOf(key: string): { readonly owner: string; readonly fileClass: FileClass } | undefined {
  for (const { fileClass, owner } of shapes) {
    const found = owner.exec(key)?.[0];
    if (found !== undefined) return { owner: found, fileClass };
  }
  return undefined;
}

/** Every file of the four folders whose name is understood, page by page. */
export async function* listOwnedFiles(store: ObjectStore): AsyncGenerator<OwnedFile, void, undefined> {
  for (const { folder } of shapes) {
    let startAfter: string | undefined;
    for (;;) {
      const page = await store.list(folder, { maxKeys: PAGE, ...(startAfter !== undefined && { startAfter }) });
      for (const { key, size, modified } of page.objects) {
        const owned = ownerOf(key);
        if (owned) yield { key, size, modified, ...owned };
      }
      startAfter = page.objects.at(-1)?.key;
      if (!page.truncated || startAfter === undefined) break;
    }
  }
}
