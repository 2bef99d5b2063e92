import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const PROCESS = fileURLToPath(new URL('../../fixtures/put-if-absent-process.ts', import.meta.url));

function tableWith(keys: readonly string[]): ObjectStore & { folder: string } {
  const folder = temporaryFolder();
  for (const key of keys) {
    mkdirSync(join(folder, dirname(key)), { recursive: true });
    writeFileSync(join(folder, key), key);
  }
  return { ...createFileObjectStore(folder), folder };
}

async function keysOf(store: ObjectStore, ...list: Parameters<ObjectStore['list']>): Promise<string[]> {
  const { objects, prefixes } = await store.list(...list);
  return [...objects.map(({ key }) => key), ...prefixes];
}

describe('putIfAbsent', () => {
  it('lets one of eight processes win each key, and shows nobody half an object', async () => {
    const store = tableWith([]);
    const keys = 40;
    let running = true;
    let seen = 0;
    const watching = (async () => {
      while (running) {
        for (const { key, size } of (await store.list('shared/')).objects) {
          const bytes = await store.get(key);
          const words = new Set(
            Buffer.from(bytes ?? [])
              .toString()
              .trim()
              .split(' '),
          );
          expect({ key, words: words.size, length: bytes?.length, size }).toEqual({
            key,
            words: 1,
            length: 18_000,
            size: 18_000,
          });
          seen++;
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const writers = Array.from({ length: 8 }, (_, index) =>
      promisify(execFile)(process.execPath, ['--no-warnings', PROCESS, store.folder, `process${index}`, String(keys)]),
    );
    const won = (await Promise.all(writers)).flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
    running = false;
    await watching;
    expect(won.toSorted()).toEqual(Array.from({ length: keys }, (_, key) => `shared/${key}`).toSorted());
    expect(seen).toBeGreaterThan(0);
    expect(readdirSync(join(store.folder, 'shared'))).toHaveLength(keys);
  }, 60_000);

  it('keeps the first content and says that it was there', async () => {
    const store = tableWith([]);
    expect(await store.putIfAbsent('a/b/c', Buffer.from('first'))).toBe('created');
    expect(await store.putIfAbsent('a/b/c', Buffer.from('second'))).toBe('exists');
    expect(Buffer.from((await store.get('a/b/c')) ?? []).toString()).toBe('first');
    expect(readdirSync(join(store.folder, 'a/b'))).toEqual(['c']);
  });

  it('clears what a killed process staged, once it is old, and never lists it', async () => {
    const store = tableWith(['a/.upkeep#1', 'a/.upkeep#2', 'a/lance-stages-so#77', 'a/kept']);
    utimesSync(join(store.folder, 'a/.upkeep#1'), 0, 0);
    utimesSync(join(store.folder, 'a/lance-stages-so#77'), 0, 0);
    expect(await keysOf(store, 'a/')).toEqual(['a/kept']);
    await store.putIfAbsent('a/new', Buffer.from('x'));
    expect(readdirSync(join(store.folder, 'a')).toSorted()).toEqual(['.upkeep#2', 'kept', 'lance-stages-so#77', 'new']);
  });

  it('survives another process that deletes the emptied directory all the time', async () => {
    const store = tableWith([]);
    await Promise.all(
      Array.from({ length: 4 }, async (_, worker) => {
        for (let round = 0; round < 50; round++) {
          await store.putIfAbsent(`deep/er/${worker}`, Buffer.from('x'));
          await store.delete(`deep/er/${worker}`);
        }
      }),
    );
    expect(await keysOf(store, '')).toEqual([]);
  });
});

describe('where nothing can be written', () => {
  it.each(['ENOSYS', 'EXDEV', 'EPERM', 'EOPNOTSUPP'])(
    'a link that fails with %s asks for hard links, not for permissions',
    async (code) => {
      const link = () => Promise.reject(Object.assign(new Error(code), { code }));
      const store = createFileObjectStore(temporaryFolder(), { link });
      await expect(store.putIfAbsent('a/b', Buffer.from('x'))).rejects.toMatchObject({
        code: 'STORE_IO',
        next: expect.stringContaining('hard links'),
      });
    },
  );

  it('a file system that makes no directories is refused instead of being asked for ever', async () => {
    await expect(createFileObjectStore('/proc').putIfAbsent('a/b', Buffer.from('x'))).rejects.toMatchObject({
      code: 'STORE_IO',
    });
  });
});

describe('list', () => {
  const keys = ['a.txt', 'a/1', 'a/2/x', 'a/2/y', 'a-b/1', 'b/1', 'c'];

  it('gives keys in byte order, over all levels or one', async () => {
    const store = tableWith(keys);
    expect(await keysOf(store, '')).toEqual(['a-b/1', 'a.txt', 'a/1', 'a/2/x', 'a/2/y', 'b/1', 'c']);
    expect(await keysOf(store, '', { delimiter: '/' })).toEqual(['a.txt', 'c', 'a-b/', 'a/', 'b/']);
    expect(await keysOf(store, 'a/', { delimiter: '/' })).toEqual(['a/1', 'a/2/']);
    expect(await keysOf(store, 'a', { delimiter: '/' })).toEqual(['a.txt', 'a-b/', 'a/']);
    expect(await keysOf(store, 'a/2/x')).toEqual(['a/2/x']);
    expect(await keysOf(store, 'nowhere/')).toEqual([]);
  });

  it('stops at maxKeys and goes on after a key', async () => {
    const store = tableWith(keys);
    const first = await store.list('', { maxKeys: 3 });
    expect(first.truncated).toBe(true);
    expect(first.objects.map(({ key }) => key)).toEqual(['a-b/1', 'a.txt', 'a/1']);
    const rest = await store.list('', { startAfter: 'a/1' });
    expect(rest).toMatchObject({ truncated: false });
    expect(rest.objects.map(({ key }) => key)).toEqual(['a/2/x', 'a/2/y', 'b/1', 'c']);
    expect((await store.list('', { maxKeys: 7 })).truncated).toBe(false);
  });

  it('pages through any set of keys as one listing would, in the order of UTF-8 bytes', async () => {
    const part = fc.constantFrom('a', 'b', 'a.b', 'a-', 'é', '\u{1F600}', '\uFF5E', 'z');
    const key = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(key, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (all, maxKeys) => {
        // A file cannot also be a directory.
        const set = all.filter((one) => !all.some((other) => other.startsWith(`${one}/`)));
        const store = tableWith(set);
        const expected = set.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        const paged: string[] = [];
        for (let truncated = true; truncated; ) {
          const startAfter = paged.at(-1);
          const page = await store.list('', { maxKeys, ...(startAfter !== undefined && { startAfter }) });
          paged.push(...page.objects.map((object) => object.key));
          truncated = page.truncated;
        }
        expect(paged).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  it('does not follow links to directories, so that a loop cannot trap it', async () => {
    const store = tableWith(['a/1']);
    symlinkSync(store.folder, join(store.folder, 'a/loop'));
    expect(await keysOf(store, '')).toEqual(['a/1']);
  });
});

describe('reading and deleting', () => {
  it('tells absence from content', async () => {
    const store = tableWith(['a/1']);
    for (const key of ['nope', 'a', 'a/1/below']) {
      expect(await store.get(key)).toBeUndefined();
      expect(await store.getRange(key, 0, 1)).toBeUndefined();
      expect(await store.head(key)).toBeUndefined();
    }
    expect(await store.head('a/1')).toEqual({ key: 'a/1', size: 3, modified: expect.any(Number) });
    expect(Buffer.from((await store.getRange('a/1', 1, 10)) ?? []).toString()).toBe('/1');
    expect(await store.getRange('a/1', 10, 10)).toHaveLength(0);
  });

  it('deletes emptied directories up to the root, no further, and never complains of absence', async () => {
    const store = tableWith(['a/b/1', 'a/2']);
    await store.delete('a/b/1');
    await store.delete('a/b/1');
    expect(readdirSync(join(store.folder, 'a'))).toEqual(['2']);
    await store.delete('a/2');
    expect(readdirSync(store.folder)).toEqual([]);
  });

  it('lists nothing under a root that is not there', async () => {
    const store = createFileObjectStore(join(temporaryFolder(), 'absent'));
    expect(await store.list('')).toEqual({ objects: [], prefixes: [], truncated: false });
  });
});

describe('keys that lead elsewhere', () => {
  const refused = { code: 'KEY_INVALID', disposition: 'permanent' };

  it.each(['../x', 'a/../../x', '/etc/passwd', 'a//b', './a', 'a/', '', 'a\0b'])(
    'refuses %j in every operation',
    async (key) => {
      const store = tableWith(['a/1']);
      await expect(store.get(key)).rejects.toMatchObject(refused);
      await expect(store.getRange(key, 0, 1)).rejects.toMatchObject(refused);
      await expect(store.head(key)).rejects.toMatchObject(refused);
      await expect(store.putIfAbsent(key, Buffer.from('x'))).rejects.toMatchObject(refused);
      await expect(store.delete(key)).rejects.toMatchObject(refused);
    },
  );

  it('refuses to list above the root', async () => {
    const store = tableWith([]);
    for (const prefix of ['../', '/etc/', 'a/../../']) await expect(store.list(prefix)).rejects.toMatchObject(refused);
  });

  it('neither writes nor deletes through a link that leaves the root', async () => {
    const outside = tableWith(['precious']);
    const store = tableWith([]);
    symlinkSync(outside.folder, join(store.folder, 'way-out'));
    await expect(store.putIfAbsent('way-out/new', Buffer.from('x'))).rejects.toMatchObject(refused);
    await expect(store.putIfAbsent('way-out/deep/new', Buffer.from('x'))).rejects.toMatchObject(refused);
    await expect(store.delete('way-out/precious')).rejects.toMatchObject(refused);
    expect(readdirSync(outside.folder)).toEqual(['precious']);
  });

  it('wants an absolute directory', () => {
    expect(() => createFileObjectStore('some/where')).toThrow(expect.objectContaining(refused));
  });
});
