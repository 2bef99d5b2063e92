import { randomInt } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { link, lstat, open, readdir, readFile, realpath, rmdir, stat, unlink } from 'node:fs/promises';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { UpkeepError } from '../errors.ts';
import type { Listing, ListOptions, ObjectStore, ObjectSummary } from '../lance/object-store.ts';
import { makeDirectory } from './make-directory.ts';

/** Lance's own store hides names of this shape (`#` and digits) too: it stages its files the same way. */
const STAGED = /#\d+$/;
const STAGED_PREFIX = '.upkeep#';
/** A staged file this old belongs to a process that died. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;
const MAKE_DIRECTORY_ATTEMPTS = 10;
/** What file systems without hard links, or across which they do not reach, answer to a link. */
const LINKLESS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']);

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
}

function invalidKey(uri: string, key: string, why: string): UpkeepError {
  return new UpkeepError(`The key ${JSON.stringify(key)} is refused under ${uri}: ${why}.`, {
    code: 'KEY_INVALID',
    disposition: 'permanent',
    next: 'Nothing was read or written. A manifest that names such a key is damaged or hostile.',
    details: { uri, key },
  });
}

function ioError(uri: string, key: string, action: string, cause: unknown): UpkeepError {
  const reason = codeOf(cause) ?? (cause instanceof Error ? cause.message : String(cause));
  const linkless = action === 'write' && LINKLESS.has(reason);
  return new UpkeepError(`Could not ${action} ${key === '' ? 'the root' : key} under ${uri}: ${reason}.`, {
    code: 'STORE_IO',
    disposition: 'failure',
    next: linkless
      ? 'Atomic commits need hard links: keep the tables on a file system that has them.'
      : 'Check permissions, free space and the disk.',
    cause,
    details: { uri, key, reason },
  });
}

/** Undefined for what is absent; any other error comes out typed, with the key. */
async function orAbsent<T>(uri: string, key: string, action: string, run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof UpkeepError) throw error;
    if (isAbsent(error)) return undefined;
    throw ioError(uri, key, action, error);
  }
}

/**
 * Objects as files under one directory, which need not exist yet. `putIfAbsent` stages a file beside its target, syncs
 * it and links it into place: atomic between processes, and on disk when it returns. Links to directories are not
 * followed by `list`, and no write or delete leaves the directory through one.
 * `files.link` is the system's own; tests give one of a file system that has none.
 * Throws `KEY_INVALID` for a key outside the directory and `STORE_IO` for what the file system refuses.
 */
export function createFileObjectStore(
  absoluteDirectory: string,
  files: { readonly link: typeof link } = { link },
): ObjectStore {
  if (!isAbsolute(absoluteDirectory)) throw invalidKey(absoluteDirectory, '', 'the directory is not absolute');
  const root = resolve(absoluteDirectory);

  function pathOf(key: string): string {
    const bad = key.split('/').some((part) => part === '' || part === '.' || part === '..');
    if (bad || key.includes('\0') || (sep === '\\' && key.includes(sep))) {
      throw invalidKey(root, key, 'keys are relative, without empty, "." or ".." parts');
    }
    return join(root, key);
  }

  /** Compares real paths of the nearest existing directory above the key, since a link may lead out. */
  async function assertInside(key: string): Promise<void> {
    const real = await orAbsent(root, key, 'resolve', () => realpath(root));
    if (real === undefined) return;
    for (let at = join(pathOf(key), '..'); at.startsWith(root); at = join(at, '..')) {
      const found = await orAbsent(root, key, 'resolve', () => realpath(at));
      if (found === undefined) continue;
      if (found !== real && !found.startsWith(real + sep)) throw invalidKey(root, key, 'a link leads outside');
      return;
    }
  }

  async function summary(key: string): Promise<ObjectSummary | undefined> {
    const found = await orAbsent(root, key, 'stat', () => stat(pathOf(key)));
    return found?.isFile() ? { key, size: found.size, modified: Math.floor(found.mtimeMs) } : undefined;
  }

  async function entriesOf(directory: string): Promise<Dirent[]> {
    const path = directory === '' ? root : join(root, directory);
    return (await orAbsent(root, directory, 'list', () => readdir(path, { withFileTypes: true }))) ?? [];
  }

  /** Keys and rolled-up prefixes below `directory`, in key order, as lazily as directories allow. */
  async function* walk(directory: string, prefix: string, after: string, deep: boolean): AsyncGenerator<string> {
    const keys: string[] = [];
    for (const entry of await entriesOf(directory)) {
      const isDirectory = entry.isDirectory();
      const key = directory + entry.name + (isDirectory ? '/' : '');
      if (!key.startsWith(prefix) || STAGED.test(entry.name)) continue;
      // A link to a file counts as a file; a link to a directory falls out when it is looked at.
      if (!isDirectory && !entry.isFile() && !entry.isSymbolicLink()) continue;
      // A directory may hold keys after `after` although its own name sorts before it.
      const behind = after !== '' && compareKeys(key, after) <= 0;
      if (behind && !(isDirectory && deep && after.startsWith(key))) continue;
      keys.push(key);
    }
    for (const key of inKeyOrder(keys)) {
      if (deep && key.endsWith('/')) yield* walk(key, prefix, after, deep);
      else yield key;
    }
  }

  async function list(prefix: string, options: ListOptions = {}): Promise<Listing> {
    if (prefix.startsWith('/') || prefix.split('/').includes('..'))
      throw invalidKey(root, prefix, 'a prefix is relative');
    const limit = options.maxKeys ?? Number.POSITIVE_INFINITY;
    const after = options.startAfter ?? '';
    const objects: ObjectSummary[] = [];
    const prefixes: string[] = [];
    // The deepest directory that the prefix names; nothing outside it can match.
    const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    for await (const key of walk(start, prefix, after, options.delimiter === undefined)) {
      // Before the stat: a listing of one key looks at one file.
      if (objects.length + prefixes.length >= limit) return { objects, prefixes, truncated: true };
      if (key.endsWith('/')) {
        prefixes.push(key);
        continue;
      }
      const object = await summary(key);
      if (object) objects.push(object);
    }
    return { objects, prefixes, truncated: false };
  }

  async function linkedDirectories(prefix: string) {
    const links = (await entriesOf(prefix)).filter((entry) => entry.isSymbolicLink());
    const found = await Promise.all(
      links.map(async ({ name }) => {
        const path = join(root, prefix, name);
        const target = await orAbsent(root, prefix + name, 'resolve', () => realpath(path));
        const isDirectory = target !== undefined && (await stat(target)).isDirectory();
        return isDirectory ? [{ key: prefix + name, target }] : [];
      }),
    );
    return found.flat();
  }

  async function sync(path: string): Promise<void> {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  async function stage(directory: string, bytes: Uint8Array): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const staged = join(directory, `${STAGED_PREFIX}${randomInt(2 ** 47)}`);
      try {
        await makeDirectory(directory);
        const handle = await open(staged, 'wx');
        try {
          await handle.writeFile(bytes);
          await handle.sync();
        } finally {
          await handle.close();
        }
        return staged;
      } catch (error) {
        // Another process deleted an emptied directory between two steps, those inside of mkdir included: that one looks
        // again at what was there and takes a directory that is gone for something else (EEXIST, ENOTDIR).
        const gone = ['ENOENT', 'ENOTDIR', 'EEXIST'].includes(codeOf(error) ?? '');
        if (!gone || attempt >= MAKE_DIRECTORY_ATTEMPTS) throw error;
      }
    }
  }

  async function removeAbandoned(directory: string): Promise<void> {
    for (const name of (await orAbsent(root, '', 'list', () => readdir(directory))) ?? []) {
      if (!name.startsWith(STAGED_PREFIX)) continue;
      const path = join(directory, name);
      const found = await orAbsent(root, name, 'stat', () => lstat(path));
      if (found && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS)
        await orAbsent(root, name, 'delete', () => unlink(path));
    }
  }

  async function putIfAbsent(key: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
    const path = pathOf(key);
    await assertInside(key);
    const directory = join(path, '..');
    try {
      // First, so that no trouble with leftovers can make a commit that landed look failed.
      await removeAbandoned(directory);
      const staged = await stage(directory, bytes);
      try {
        await files.link(staged, path);
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return 'exists';
        throw error;
      } finally {
        await unlink(staged);
      }
      await sync(directory);
      return 'created';
    } catch (error) {
      if (error instanceof UpkeepError) throw error;
      throw ioError(root, key, 'write', error);
    }
  }

  async function remove(key: string): Promise<void> {
    const path = pathOf(key);
    await assertInside(key);
    await orAbsent(root, key, 'delete', () => unlink(path));
    for (let directory = join(path, '..'); directory !== root; directory = join(directory, '..')) {
      try {
        await rmdir(directory);
      } catch (error) {
        if (isAbsent(error)) continue;
        // Not empty, or in use: it stays, and so does everything above it.
        if (['ENOTEMPTY', 'EEXIST', 'EBUSY', 'EPERM', 'EACCES'].includes(codeOf(error) ?? '')) return;
        throw ioError(root, key, 'delete', error);
      }
    }
  }

  return {
    uri: root,
    list,
    linkedDirectories,
    putIfAbsent,
    delete: remove,
    head: summary,
    async get(key) {
      return orAbsent(root, key, 'read', () => readFile(pathOf(key)));
    },
    async getRange(key, start, length) {
      return orAbsent(root, key, 'read', async () => {
        const handle = await open(pathOf(key), 'r');
        try {
          const buffer = Buffer.alloc(Math.max(0, Math.min(length, (await handle.stat()).size - start)));
          const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
          return buffer.subarray(0, bytesRead);
        } finally {
          await handle.close();
        }
      });
    },
  };
}

const SURROGATE = /[\ud800-\udfff]/;

/** UTF-8 byte order, which differs from JavaScript's only around characters outside the basic plane. */
function compareKeys(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

function inKeyOrder(keys: string[]): string[] {
  return keys.some((key) => SURROGATE.test(key)) ? keys.sort(compareKeys) : keys.sort();
}
