import { describe, expect, it } from 'vitest';
import { readTags } from '../../../src/lance/tags.ts';
import { memoryStore } from './synthetic.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const unsupported = expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED', disposition: 'permanent' });

describe('the tags of a table', () => {
  it('are the names and versions that LanceDB writes', async () => {
    const store = memoryStore({
      '_refs/tags/a.b-c_D.json': bytes('{"branch": null, "version": 3, "manifestSize": 798, "metadata": {}}'),
      '_refs/tags/one.json': bytes('{"version": 2}'),
      '_versions/latest_version_hint.json': bytes('{"version": 5}'),
    });
    expect(await readTags(store)).toEqual([
      { name: 'a.b-c_D', version: 3 },
      { name: 'one', version: 2 },
    ]);
  });

  it('are none without a request per tag where there is no reference', async () => {
    const store = memoryStore();
    expect(await readTags(store)).toEqual([]);
    expect(store.calls).toEqual(['list _refs/']);
  });

  it('leave out one that is deleted while they are read', async () => {
    const store = memoryStore({ '_refs/tags/one.json': bytes('{"version": 2}') });
    const list = store.list.bind(store);
    const vanishing = {
      ...store,
      list: async (prefix: string) => {
        const listing = await list(prefix);
        store.objects.clear();
        return listing;
      },
    };
    expect(await readTags(vanishing)).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['a branch', '_refs/branches/side.json', '{}'],
    ['a reference of another kind', '_refs/pins/one.json', '{"version": 2}'],
    ['a tag in a folder', '_refs/tags/deep/one.json', '{"version": 2}'],
    ['a tag that is no JSON', '_refs/tags/one.json', '{"version": '],
    ['a tag without a version', '_refs/tags/one.json', '{"branch": null}'],
    ['a tag with a version that is no number', '_refs/tags/one.json', '{"version": "2"}'],
    ['a tag of nothing', '_refs/tags/one.json', 'null'],
  ])('are refused with %s', async (_, key, content) => {
    await expect(readTags(memoryStore({ [key]: bytes(content) }))).rejects.toEqual(unsupported);
  });
});
