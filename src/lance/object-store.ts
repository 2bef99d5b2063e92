/** What an object is, without its bytes. `size` in bytes; `modified` in epoch milliseconds. */
export interface ObjectSummary {
  readonly key: string;
  readonly size: number;
  readonly modified: number;
}

export interface Listing {
  /** In key order (byte order of UTF-8). */
  readonly objects: readonly ObjectSummary[];
  /** With `delimiter`, the keys that roll up into one, each ending in `/`. */
  readonly prefixes: readonly string[];
  /** True when `maxKeys` cut the listing. */
  readonly truncated: boolean;
}

export interface ListOptions {
  /** Stops after this many objects and prefixes together. Default: everything. */
  readonly maxKeys?: number;
  /** Only keys greater than this one. */
  readonly startAfter?: string;
  /** Only `/`: one level. */
  readonly delimiter?: '/';
}

/**
 * The few operations that the format needs from a store of objects, rooted at one URI (a table or a root).
 * Keys are relative, `/`-separated, never absolute, never with `..`.
 * Shaped after S3: no rename, no append; `putIfAbsent` is atomic and the only write of new content.
 */
export interface ObjectStore {
  /** Canonical URI this store is rooted at, without a trailing slash. */
  readonly uri: string;
  /** Undefined when the key does not exist. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Bytes [start, start + length), shorter at the end of the object. Undefined when the key does not exist. */
  getRange(key: string, start: number, length: number): Promise<Uint8Array | undefined>;
  head(key: string): Promise<ObjectSummary | undefined>;
  list(prefix: string, options?: ListOptions): Promise<Listing>;
  /** All or nothing: a reader sees no object or the whole one. `exists` when another write was first. */
  putIfAbsent(key: string, bytes: Uint8Array): Promise<'created' | 'exists'>;
  /** Links to directories on one level, which `list` does not follow; only a file system has any. Targets are absolute. */
  linkedDirectories?(prefix: string): Promise<readonly { readonly key: string; readonly target: string }[]>;
  /** No error when the key is already gone. */
  delete(key: string): Promise<void>;
}
