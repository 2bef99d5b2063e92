import { describe, expect, it } from 'vitest';
import { readManifestAt } from '../../../src/lance/newest.ts';
import { assertCoverageKept } from '../../../src/work/coverage.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';
import { type FragmentFields, type IndexFields, manifestBytes, v2Key } from '../lance/synthetic.ts';

const OPERATION = { Append: 100, CreateIndex: 103, Rewrite: 104, Update: 108 } as const;

interface Version {
  readonly by: keyof typeof OPERATION;
  /** Ids of fragments, of 10 rows each. */
  readonly fragments: readonly number[];
  /** Default: all of them. */
  readonly keyCovers?: readonly number[];
  readonly vectorCovers?: readonly number[];
}

/** Walks over versions 1, 2, ... of one table; answers the code and the sentence, or undefined. */
async function judge(versions: readonly Version[], ours: readonly number[] = [], withFiles = true) {
  const { store, put } = memoryStore('s3://lake/t.lance');
  for (const [index, { by, fragments, keyCovers = fragments, vectorCovers }] of versions.entries()) {
    const version = index + 1;
    const indexes: IndexFields[] = [{ name: 'id_idx', fieldIds: [0], covers: keyCovers }];
    if (vectorCovers) indexes.push({ name: 'v_idx', fieldIds: [1], covers: vectorCovers });
    const parts = fragments.map((id): FragmentFields => ({ id, rows: 10 }));
    put(v2Key(version), manifestBytes({ version, fragments: parts, indexes, operation: OPERATION[by] }));
  }
  if (withFiles) for (const at of [0, 1]) put(`_indices/00000000-0000-4000-8000-00000000000${at}/page_data.lance`, '');
  const [from, to] = await Promise.all([readManifestAt(store, 1), readManifestAt(store, versions.length)]);
  if (!from || !to) throw new Error('no manifest');
  return assertCoverageKept(store, from, to, new Set(ours)).then(
    () => undefined,
    (error) => `${error.code}: ${error.message}`,
  );
}

const start: Version = { by: 'Append', fragments: [0, 1, 2], vectorCovers: [0, 1, 2] };

describe('the coverage of indexes between two versions', () => {
  it('is kept by a compaction that takes every row along', async () => {
    expect(await judge([start, { by: 'Rewrite', fragments: [2, 3], vectorCovers: [2, 3] }])).toBeUndefined();
  });

  it('is lost where a compaction leaves what it wrote outside, also when a writer commits after it', async () => {
    const rewritten: Version = { by: 'Rewrite', fragments: [2, 3], vectorCovers: [2] };
    const appended: Version = { by: 'Append', fragments: [2, 3, 4], vectorCovers: [2] };
    const sentence =
      'INDEX_COVERAGE_LOST: Version 2 of s3://lake/t.lance (Rewrite) left 10 rows outside of the index v_idx';
    expect(await judge([start, rewritten])).toContain(sentence);
    expect(await judge([start, rewritten, appended])).toContain(sentence);
  });

  it('is lost where a compaction or a commit of ours drops an index', async () => {
    const sentence = 'dropped the index v_idx, which covered 30 rows';
    expect(await judge([start, { by: 'Rewrite', fragments: [3] }])).toContain(sentence);
    expect(await judge([start, { by: 'CreateIndex', fragments: [0, 1, 2] }], [2])).toContain(sentence);
    expect(await judge([start, { by: 'Update', fragments: [0, 1, 2, 3] }], [2])).toContain(sentence);
  });

  it('is lost where a commit of ours takes out a fragment that stays, and not where it adds rows', async () => {
    const taken: Version = { by: 'Update', fragments: [0, 1, 2, 3], vectorCovers: [0, 1] };
    const added: Version = { by: 'Update', fragments: [0, 1, 2, 3], vectorCovers: [0, 1, 2] };
    expect(await judge([start, taken], [2])).toContain('left 10 rows outside of the index v_idx');
    expect(await judge([start, added], [2])).toBeUndefined();
  });

  it('is a writer’s own where a writer drops an index or updates rows', async () => {
    expect(await judge([start, { by: 'CreateIndex', fragments: [0, 1, 2] }])).toBeUndefined();
    expect(await judge([start, { by: 'Update', fragments: [1, 2, 3], vectorCovers: [1] }])).toBeUndefined();
  });

  it('is not what a compaction takes from the key index once its files are gone, but from any other', async () => {
    const withoutKey: Version = { by: 'Rewrite', fragments: [3], keyCovers: [], vectorCovers: [3] };
    expect(await judge([start, withoutKey], [], false)).toBeUndefined();
    expect(await judge([start, withoutKey])).toContain('left 10 rows outside of the index id_idx');
    expect(await judge([start, { by: 'Rewrite', fragments: [3] }], [], false)).toContain('dropped the index v_idx');
  });
});
