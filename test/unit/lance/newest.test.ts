import { describe, expect, it } from 'vitest';
import { manifestKey } from '../../../src/lance/manifest-names.ts';
import { findNewestVersion, listManifests, readManifestAt, readNewestManifest } from '../../../src/lance/newest.ts';
import { manifestBytes, memoryStore, v2Key } from './synthetic.ts';

const RECENT = 1_700_000_000_000;

function storeOf(naming: 'V1' | 'V2', ...versions: number[]) {
  const entries = versions.map((version) => [
    manifestKey(version, naming),
    manifestBytes({ version, timestampMs: RECENT }),
  ]);
  return memoryStore({
    ...Object.fromEntries(entries),
    '_versions/d9.manifest': new Uint8Array(),
    '_versions/latest_version_hint.json': new Uint8Array(),
  });
}

describe('the newest version', () => {
  it('costs one listing with V2 names', async () => {
    const store = storeOf('V2', 1, 2, 10);
    expect(await findNewestVersion(store)).toMatchObject({ version: 10, key: v2Key(10), naming: 'V2' });
    expect(store.calls).toEqual(['list _versions/18446744']);
  });

  it('is the greatest number with V1 names, not the last in name order', async () => {
    expect(await findNewestVersion(storeOf('V1', 1, 9, 10))).toMatchObject({ version: 10, naming: 'V1' });
  });

  it('is undefined where there is no table', async () => {
    const store = memoryStore({ 'data/x.lance': new Uint8Array() });
    expect(await findNewestVersion(store)).toBeUndefined();
    expect(await readNewestManifest(store)).toBeUndefined();
    expect(await readNewestManifest(store, { version: 4 })).toBeUndefined();
  });

  it('is decoded with one listing and one read', async () => {
    const store = storeOf('V2', 1, 2);
    expect(await readNewestManifest(store)).toMatchObject({ version: 2 });
    expect(store.calls).toEqual(['list _versions/18446744', `get ${v2Key(2)}`]);
  });

  it('is found from a remembered version without a listing', async () => {
    const store = storeOf('V2', 3, 4, 5);
    expect(await readNewestManifest(store, { version: 3, now: RECENT })).toMatchObject({ version: 5 });
    expect(store.calls).toEqual([4, 5, 6].map((version) => `get ${v2Key(version)}`));
    store.calls.length = 0;
    expect(await readNewestManifest(store, { version: 5, now: RECENT })).toMatchObject({ version: 5 });
    expect(store.calls).toEqual([6, 5].map((version) => `get ${v2Key(version)}`));
  });

  it('is listed when the remembered version is gone, as after a table was made anew', async () => {
    expect(await readNewestManifest(storeOf('V2', 1, 2), { version: 40, now: RECENT })).toMatchObject({ version: 2 });
    expect(await readNewestManifest(storeOf('V1', 1, 2), { version: 2, now: RECENT })).toMatchObject({ version: 2 });
  });

  it('is listed when a tag kept an old remembered version and a cleanup took the next one', async () => {
    const day = 24 * 60 * 60 * 1000;
    expect(await readNewestManifest(storeOf('V2', 3, 9), { version: 3, now: RECENT + day + 1 })).toMatchObject({
      version: 9,
    });
  });

  it('is looked for again when a cleanup took it between listing and reading', async () => {
    const store = storeOf('V2', 3);
    const list = store.list;
    store.list = async (prefix, options) => {
      const listing = await list(prefix, options);
      if (store.objects.delete(v2Key(3))) store.objects.set(v2Key(4), manifestBytes({ version: 4 }));
      return listing;
    };
    expect(await readNewestManifest(store)).toMatchObject({ version: 4 });
  });
});

describe('listManifests', () => {
  it('gives all versions newest first, over several pages, in both namings', async () => {
    const versions = Array.from({ length: 250 }, (_, index) => index + 1);
    for (const naming of ['V1', 'V2'] as const) {
      const listed: number[] = [];
      for await (const { version } of listManifests(storeOf(naming, ...versions))) listed.push(version);
      expect(listed).toEqual(versions.toReversed());
    }
  });

  it('fetches no page that is not asked for', async () => {
    const store = storeOf('V2', ...Array.from({ length: 250 }, (_, index) => index + 1));
    for await (const { version } of listManifests(store)) if (version === 200) break;
    expect(store.calls).toHaveLength(1);
  });

  it('reads one version by number, or says that it is not there', async () => {
    expect(await readManifestAt(storeOf('V1', 1, 2), 1)).toMatchObject({ version: 1, naming: 'V1' });
    expect(await readManifestAt(storeOf('V2', 1, 2), 3)).toBeUndefined();
  });
});
