import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ledgerFileFor, prepareLedgerFolder } from '../../../src/cli/ledger-file.ts';
import { locateTarget, rootsToMaintain } from '../../../src/cli/roots.ts';

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'upkeep-places-')));
  await mkdir(join(folder, 'db', 'events.lance'), { recursive: true });
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the ledger file', () => {
  const place = { flag: undefined, env: {}, cwd: '/srv/lake', home: '/home/ada' };

  it('lies in the state folder of the user', () => {
    expect(ledgerFileFor(place)).toBe('/home/ada/.local/state/lance-upkeep/ledger.sqlite');
  });

  it('follows XDG_STATE_HOME when that is an absolute path', () => {
    expect(ledgerFileFor({ ...place, env: { XDG_STATE_HOME: '/state' } })).toBe('/state/lance-upkeep/ledger.sqlite');
    expect(ledgerFileFor({ ...place, env: { XDG_STATE_HOME: 'state' } })).toBe(
      '/home/ada/.local/state/lance-upkeep/ledger.sqlite',
    );
  });

  it('is the one of --ledger first of all', () => {
    const env = { XDG_STATE_HOME: '/state' };
    expect(ledgerFileFor({ ...place, env, flag: 'mine.sqlite' })).toBe('/srv/lake/mine.sqlite');
  });

  it('gets the folders that it needs', async () => {
    await prepareLedgerFolder(join(folder, 'a', 'b', 'ledger.sqlite'));

    expect(await readdir(join(folder, 'a'))).toEqual(['b']);
  });

  it('is refused with a code where no folder can be made', async () => {
    await writeFile(join(folder, 'file'), '');

    await expect(prepareLedgerFolder(join(folder, 'file', 'ledger.sqlite'))).rejects.toMatchObject({
      code: 'LEDGER_NOT_OPENED',
    });
  });
});

describe('the roots to maintain', () => {
  it('are those of the command line, before those of UPKEEP_ROOTS', async () => {
    expect(await rootsToMaintain(['db'], ['/elsewhere'], folder)).toEqual([join(folder, 'db')]);
    expect(await rootsToMaintain([], ['db'], folder)).toEqual([join(folder, 'db')]);
  });

  it('may be URIs, which stay as they are', async () => {
    expect(await rootsToMaintain(['s3://bucket/db'], [], folder)).toEqual(['s3://bucket/db']);
  });

  it.each([
    ['no root at all', [], 'ROOTS_MISSING'],
    ['a folder that is not there', ['gone'], 'ROOT_NOT_FOUND'],
    ['a file', ['file'], 'ROOT_INVALID'],
    ['a table', ['db/events.lance'], 'ROOT_INVALID'],
  ])('are refused: %s', async (_, named, code) => {
    await writeFile(join(folder, 'file'), '');

    await expect(rootsToMaintain(named, [], folder)).rejects.toMatchObject({ code });
  });
});

describe('a target on the command line', () => {
  it('brings its own folder as root', async () => {
    expect(await locateTarget('db/events.lance', [], folder)).toEqual({
      target: join(folder, 'db', 'events.lance'),
      roots: [join(folder, 'db')],
    });
  });

  it('has the root of the table that it links to', async () => {
    await symlink(join(folder, 'db', 'events.lance'), join(folder, 'link.lance'));

    expect((await locateTarget('link.lance', [], folder)).roots).toEqual([join(folder, 'db')]);
  });

  it('is looked for under UPKEEP_ROOTS when those are set', async () => {
    expect((await locateTarget('db/events.lance', ['/only/here'], folder)).roots).toEqual(['/only/here']);
  });

  it('may be a URI', async () => {
    expect(await locateTarget('s3://bucket/db/x.lance/', [], folder)).toEqual({
      target: 's3://bucket/db/x.lance',
      roots: ['s3://bucket/db'],
    });
  });

  it('must not contain "..", and the refusal names the path that was meant', async () => {
    await expect(locateTarget('db/../db/events.lance', [], folder)).rejects.toMatchObject({
      code: 'TARGET_INVALID',
      next: `Write the whole path: ${join(folder, 'db', 'events.lance')}`,
    });
  });

  it('must be there', async () => {
    await expect(locateTarget('db/gone.lance', [], folder)).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' });
    await expect(locateTarget('db/events', [], folder)).rejects.toMatchObject({
      code: 'TABLE_NOT_FOUND',
      next: `If you mean the table of that name, write ${join(folder, 'db', 'events.lance')}`,
    });
  });
});
