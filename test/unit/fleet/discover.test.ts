import { describe, expect, it } from 'vitest';
import { discoverCandidates, discoverTables } from '../../../src/fleet/discover.ts';
import { countingStore } from '../../fixtures/counting-store.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';

describe('discovery', () => {
  it('S15: lists 2,000 tables in one folder with one listing, and reads nothing of them', async () => {
    const { store: memory, put } = memoryStore('s3://bucket/db');
    for (let n = 0; n < 2000; n += 1) put(`table-${n}.lance/_versions/18446744073709551614.manifest`, '');
    const { store, requests } = countingStore(memory);
    expect((await discoverCandidates(store)).targets).toHaveLength(2000);
    expect(requests).toEqual([{ call: 'list', key: '' }]);
  });

  it('names a folder that cannot be listed and goes on with what lies beside it', async () => {
    const { store, put } = memoryStore('s3://bucket/db', {});
    put('a.lance/_versions/18446744073709551614.manifest', '');
    put('locked/b.lance/_versions/18446744073709551614.manifest', '');
    put('team/c.lance/_versions/18446744073709551614.manifest', '');
    const partly: typeof store = {
      ...store,
      list: async (prefix, options) => {
        if (prefix === 'locked/') throw new Error('permission denied');
        return store.list(prefix, options);
      },
    };
    const { targets, failed } = await discoverTables(partly);
    expect(targets).toEqual(['s3://bucket/db/a.lance', 's3://bucket/db/team/c.lance']);
    expect(failed).toMatchObject([{ target: 's3://bucket/db/locked', error: { message: 'Error: permission denied' } }]);
  });

  it('never looks into a table or into its own folder', async () => {
    const { store: memory, put } = memoryStore('s3://bucket/db');
    put('a.lance/_versions/18446744073709551614.manifest', '');
    put('a.lance/nested/b.lance/_versions/18446744073709551614.manifest', '');
    put('_lance_upkeep/c.lance/_versions/18446744073709551614.manifest', '');
    put('team/d.lance/_versions/18446744073709551614.manifest', '');
    put('e.lance/data/file', '');
    const { store, requests } = countingStore(memory);
    expect((await discoverTables(store)).targets).toEqual(['s3://bucket/db/a.lance', 's3://bucket/db/team/d.lance']);
    expect(requests.map(({ key }) => key)).toEqual([
      '',
      'team/',
      'a.lance/_versions/',
      'e.lance/_versions/',
      // Named like a table, and none: what lies in it may be one that is left out.
      'e.lance/',
      'team/d.lance/_versions/',
    ]);
  });
});
