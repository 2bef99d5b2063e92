import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { observe } from '../../../src/fleet/observe.ts';
import { canonicalRoot, canonicalTarget } from '../../../src/fleet/targets.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { createPlainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const settings = loadSettings({});

function look(target: string) {
  return observe(createFileObjectStore(target), target, settings, Date.now());
}

function coded(code: string, message = '') {
  return expect.objectContaining({
    code,
    disposition: 'permanent',
    message: expect.stringContaining(message),
    next: expect.stringMatching(/\.$/),
  });
}

describe('a table that cannot be observed', () => {
  it('is TABLE_NOT_FOUND when there is none', async () => {
    await expect(look(join(temporaryFolder(), 't.lance'))).rejects.toEqual(coded('TABLE_NOT_FOUND', 't.lance'));
  });

  it('is TABLE_NOT_FOUND when the directory holds no versions', async () => {
    const target = join(temporaryFolder(), 't.lance');
    mkdirSync(join(target, 'data'), { recursive: true });
    await expect(look(target)).rejects.toEqual(coded('TABLE_NOT_FOUND', target));
  });

  it('is MANIFEST_UNREADABLE when the newest manifest is truncated, with the name of the file', async () => {
    const database = temporaryFolder();
    await createPlainTable(database, 't', rows(0, 10, 0));
    const versions = join(database, 't.lance', '_versions');
    const newest = readdirSync(versions).sort()[0] ?? '';
    writeFileSync(join(versions, newest), readFileSync(join(versions, newest)).subarray(0, 100));
    await expect(look(join(database, 't.lance'))).rejects.toEqual(coded('MANIFEST_UNREADABLE', newest));
  });
});

describe('the name of a target', () => {
  it('is its absolute path with all links resolved, however it was written', async () => {
    const root = temporaryFolder();
    await createPlainTable(root, 't', rows(0, 10, 0));
    symlinkSync(root, join(root, 'again'));
    const target = join(root, 't.lance');
    for (const name of [target, `${target}/`, `${root}//t.lance`, `${root}/./t.lance`, `${root}/again/t.lance`]) {
      expect(await canonicalTarget(name, [root])).toBe(target);
    }
  });

  it('is refused outside of the roots, also when a link leads there', async () => {
    const root = temporaryFolder();
    const elsewhere = temporaryFolder();
    await createPlainTable(elsewhere, 't', rows(0, 10, 0));
    symlinkSync(join(elsewhere, 't.lance'), join(root, 't.lance'));
    const refused = coded('TARGET_OUTSIDE_ROOTS', join(elsewhere, 't.lance'));
    await expect(canonicalTarget(join(elsewhere, 't.lance'), [root])).rejects.toEqual(refused);
    await expect(canonicalTarget(join(root, 't.lance'), [root])).rejects.toEqual(refused);
  });

  it('is refused in a folder whose name only begins like a root', async () => {
    const parent = temporaryFolder();
    await createPlainTable(join(parent, 'db-old'), 't', rows(0, 10, 0));
    const target = join(parent, 'db-old', 't.lance');
    await expect(canonicalTarget(target, [join(parent, 'db')])).rejects.toEqual(coded('TARGET_OUTSIDE_ROOTS'));
  });

  it('is refused with `..` in it, before anything is looked up', async () => {
    const root = temporaryFolder();
    await expect(canonicalTarget(`${root}/x/../t.lance`, [root])).rejects.toEqual(coded('TARGET_INVALID', '`..`'));
  });

  it('is TABLE_NOT_FOUND when nothing is there', async () => {
    const root = temporaryFolder();
    await expect(canonicalTarget(join(root, 't.lance'), [root])).rejects.toEqual(coded('TABLE_NOT_FOUND'));
  });

  it('is refused inside of another table and in the folder of this product', async () => {
    const root = temporaryFolder();
    await createPlainTable(join(root, 'outer.lance'), 'inner', rows(0, 10, 0));
    await createPlainTable(join(root, '_lance_upkeep'), 'scratch', rows(0, 10, 0));
    const inner = join(root, 'outer.lance', 'inner.lance');
    const scratch = join(root, '_lance_upkeep', 'scratch.lance');
    await expect(canonicalTarget(inner, [root])).rejects.toEqual(coded('TARGET_INVALID', 'inside another table'));
    await expect(canonicalTarget(scratch, [root])).rejects.toEqual(coded('TARGET_INVALID', '_lance_upkeep'));
  });
});

describe('the name of a root', () => {
  it('is resolved like a target, and has to be a directory of tables', async () => {
    const root = temporaryFolder();
    await createPlainTable(root, 't', rows(0, 10, 0));
    writeFileSync(join(root, 'file'), '');
    symlinkSync(root, join(root, 'again'));
    expect(await canonicalRoot(`${root}/again/`)).toBe(root);
    await expect(canonicalRoot(join(root, 'file'))).rejects.toEqual(coded('ROOT_INVALID', 'not a directory'));
    await expect(canonicalRoot(join(root, 'none'))).rejects.toEqual(coded('ROOT_INVALID', 'no such directory'));
    await expect(canonicalRoot(join(root, 't.lance'))).rejects.toEqual(coded('ROOT_INVALID', 'it is a table'));
  });
});
