import { assertNoBranches } from './branches.ts';
import { unsupported } from './errors.ts';
import type { ObjectStore } from './object-store.ts';

const REFS_PREFIX = '_refs/';
const TAG_KEY = /^_refs\/tags\/([^/]+)\.json$/;
const TAGS_AT_A_TIME = 16;

/** A name for one version, kept for as long as the tag is there. */
export interface Tag {
  readonly name: string;
  readonly version: number;
}

/**
 * All tags of a table. Whatever else stands under `_refs/` may keep versions alive in a way that is not known here, so it is
 * refused with `MANIFEST_UNSUPPORTED`: branches, a tag that cannot be read, any other kind of reference.
 */
export async function readTags(store: ObjectStore): Promise<readonly Tag[]> {
  const { objects } = await store.list(REFS_PREFIX);
  if (objects.length === 0) return [];
  await assertNoBranches(store);
  const names = objects.map(({ key }) => {
    const name = TAG_KEY.exec(key)?.[1];
    if (name === undefined) throw unsupported(key, 'is a reference of an unknown kind', 'tags');
    return { key, name };
  });
  const tags: Tag[] = [];
  for (let at = 0; at < names.length; at += TAGS_AT_A_TIME) {
    const part = names.slice(at, at + TAGS_AT_A_TIME);
    const read = await Promise.all(part.map(({ key, name }) => readTag(store, key, name)));
    tags.push(...read.flatMap((tag) => tag ?? []));
  }
  return tags;
}

/** Undefined when it was deleted since it was listed. */
async function readTag(store: ObjectStore, key: string, name: string): Promise<Tag | undefined> {
  const bytes = await store.get(key);
  return bytes && { name, version: versionIn(key, bytes) };
}

function versionIn(key: string, bytes: Uint8Array): number {
  const content = parsed(bytes);
  const version: unknown =
    content !== null && typeof content === 'object' ? Reflect.get(content, 'version') : undefined;
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) {
    throw unsupported(key, 'names no version', 'tags of the form {"version": 7}');
  }
  return version;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    // Damage is answered by the caller, which knows the key.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
