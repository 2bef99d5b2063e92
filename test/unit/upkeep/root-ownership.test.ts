import { beforeEach, describe, expect, it } from 'vitest';
import { UpkeepError } from '../../../src/errors.ts';
import { nestedTable } from '../../../src/fleet/nested-table.ts';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { OWNER_KEY } from '../../../src/upkeep/root-owner.ts';
import { createRootOwnership, foldersAround } from '../../../src/upkeep/root-ownership.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';

let bucket: ObjectStore;
const prefixOf = (uri: string) => (uri === 's3://b' ? undefined : `${uri.slice('s3://b/'.length)}/`);

function storageFor(uri: string): ObjectStore {
  const prefix = prefixOf(uri);
  return prefix === undefined ? bucket : nestedTable(bucket, prefix);
}

function ledger(name: string, at: (uri: string) => ObjectStore = storageFor) {
  const owner = async () => ({ ledgerId: name, ledger: `table ${name}` });
  return createRootOwnership({ storageFor: at, owner, now: () => 0 });
}

async function markers(): Promise<string[]> {
  const { objects } = await bucket.list('');
  return objects.map(({ key }) => key).filter((key) => key.endsWith(OWNER_KEY));
}

beforeEach(() => {
  bucket = memoryStore('s3://b', { 'db/team/x.lance/_versions/1.manifest': '' }).store;
});

describe('a root', () => {
  it('is refused inside of another ledger’s, at any depth, and leaves no marker that would refuse the first one', async () => {
    await ledger('first').assertOwned('s3://b');
    await expect(ledger('second').assertOwned('s3://b/db/team')).rejects.toMatchObject({ code: 'ROOT_OWNED' });
    expect(await markers()).toEqual([OWNER_KEY]);
    expect(await ledger('first').assertOwned('s3://b')).toMatchObject({ targets: ['s3://b/db/team/x.lance'] });
  });

  it('is refused around another ledger’s, and leaves no marker behind', async () => {
    await ledger('first').assertOwned('s3://b/db/team');
    await expect(ledger('second').assertOwned('s3://b')).rejects.toMatchObject({ code: 'ROOT_OWNED' });
    expect(await markers()).toEqual([`db/team/${OWNER_KEY}`]);
  });

  it('inside of a root of the same ledger is fine', async () => {
    await ledger('one').assertOwned('s3://b');
    await ledger('one').assertOwned('s3://b/db');
    await ledger('one').assertOwned('s3://b');
    expect(await markers()).toHaveLength(2);
  });

  it('is looked at again each time: one that another ledger took meanwhile is refused', async () => {
    const ours = ledger('ours');
    await ours.assertOwned('s3://b/db');
    await bucket.delete(`db/${OWNER_KEY}`);
    await ledger('theirs').assertOwned('s3://b/db');
    await expect(ours.assertOwned('s3://b/db')).rejects.toMatchObject({ code: 'ROOT_OWNED' });
  });

  it('is never two ledgers’ when both come in the same moment, whatever the order of their steps', async () => {
    for (const wait of [0, 1, 2, 3, 4, 5, 6, 7]) {
      bucket = memoryStore('s3://b', { 'db/x.lance/_versions/1.manifest': '' }).store;
      const late = async () => {
        for (let turn = 0; turn < wait; turn += 1) await Promise.resolve();
        return ledger('inner').assertOwned('s3://b/db');
      };
      const outcomes = await Promise.allSettled([ledger('outer').assertOwned('s3://b'), late()]);
      const won = outcomes.filter(({ status }) => status === 'fulfilled');
      expect(won.length, `${wait} turns later`).toBeLessThanOrEqual(1);
      expect(await markers(), `${wait} turns later`).toHaveLength(won.length);
    }
  });

  describe('whose surroundings may not be read', () => {
    const denied = () => new UpkeepError('Denied.', { code: 'STORE_ACCESS_DENIED', disposition: 'failure' });
    const refusing = (list: ObjectStore['list']) => (uri: string) =>
      uri === 's3://b' ? { ...bucket, get: () => Promise.reject(denied()), list } : storageFor(uri);

    it('is nobody else’s when a listing of the marker alone says so: S3 answers 403 for what is absent', async () => {
      const at = refusing(async () => ({ objects: [], prefixes: [], truncated: false }));
      await expect(ledger('one', at).assertOwned('s3://b/db')).resolves.toMatchObject({ failed: [] });
    });

    it('is refused when not even that may be asked, with the rights that are missing', async () => {
      const at = refusing(() => Promise.reject(denied()));
      await expect(ledger('one', at).assertOwned('s3://b/db')).rejects.toMatchObject({
        code: 'ROOT_OWNER_HIDDEN',
        next: expect.stringContaining(`s3:GetObject on s3://b/${OWNER_KEY}`),
      });
      expect(await markers()).toEqual([]);
    });
  });
});

describe('the folders around a root', () => {
  it.each([
    ['s3://b', []],
    ['s3://b/db', ['s3://b']],
    ['s3://b/db/team', ['s3://b/db', 's3://b']],
    ['/data/db', ['/data', '/']],
  ])('of %s are %j', (root, around) => {
    expect(foldersAround(root)).toEqual(around);
  });
});
