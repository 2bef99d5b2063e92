import { rename, rm } from 'node:fs/promises';
import { Index, type MergeResult, type Table } from '@lancedb/lancedb';
import { expect, it } from 'vitest';
import { compact } from '../../../src/work/compact.ts';
import type { WorkDependencies } from '../../../src/work/context.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import { createSearchTable } from '../../fixtures/search-table.ts';
import { createPlainTable, enableWal, flushGeneration, headOf, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

const shape = { fragments: 6, rowsEach: 60, vectorIndex: 'IVF_FLAT' } as const;

async function searchTable() {
  const folder = temporaryFolder();
  (await createSearchTable(folder, 't', shape)).close();
  const target = `${folder}/t.lance`;
  const folderOf = async (name: string) => {
    const entry = (await headOf(target)).indexes.find((one) => one.name === name);
    return `${target}/_indices/${entry?.uuid}`;
  };
  return { target, folderOf };
}

it.each(['text_idx', 'label_idx', 'vector_idx'])(
  'a compaction that would make LanceDB drop %s, whose files are gone, is refused before anything is written',
  async (name) => {
    const { target, folderOf } = await searchTable();
    await rm(await folderOf(name), { recursive: true });
    const before = await headOf(target);

    await expect(compact(attemptOn(target), workDependencies())).rejects.toMatchObject({
      code: 'INDEX_FILES_MISSING',
      details: { index: name },
    });
    expect((await headOf(target)).version).toBe(before.version);
  },
);

it('a compaction goes on without the files of the key index, which IndexId builds anew', async () => {
  const { target, folderOf } = await searchTable();
  await rm(await folderOf('id_idx'), { recursive: true });
  expect(await compact(attemptOn(target), workDependencies())).toMatchObject({
    rewroteNothing: false,
    compaction: { indexable: true },
  });
  expect((await headOf(target)).fragments).toHaveLength(1);
});

it.each([
  ['optimize()', {}],
  ['the bounded strategy', { compactMaxBytes: 20_000 }],
])('an index that is lost in the middle of a compaction ends it as failed (%s)', async (_, settings) => {
  const { target, folderOf } = await searchTable();
  const lost = await folderOf('text_idx');
  const dependencies = workDependencies(settings);
  // The files go after the check, and come back after the commit: nobody but the manifests can tell.
  const lancedb: WorkDependencies['lancedb'] = {
    ...dependencies.lancedb,
    async openTable(uri) {
      const table = await dependencies.lancedb.openTable(uri);
      const optimize = table.optimize.bind(table);
      table.optimize = async (options) => {
        await rename(lost, `${lost}.away`);
        return optimize(options).finally(() => rename(`${lost}.away`, lost));
      };
      return table;
    },
  };
  await expect(compact(attemptOn(target), { ...dependencies, lancedb })).rejects.toMatchObject({
    code: 'INDEX_COVERAGE_LOST',
    disposition: 'permanent',
    message: expect.stringMatching(/text_idx.* rows|rows .*text_idx/),
  });
});

it('a merge that takes an index along ends as failed', async () => {
  const folder = temporaryFolder();
  const table = await createPlainTable(folder, 't', rows(0, 40, 0), 2);
  await table.createIndex('id', { config: Index.btree() });
  await enableWal(table);
  await flushGeneration(table, rows(30, 50, 1));
  await table.createIndex('n', { config: Index.bitmap() });
  table.close();
  const dependencies = workDependencies();
  const lancedb: WorkDependencies['lancedb'] = {
    ...dependencies.lancedb,
    openTable: async (uri) => droppingWithMerges(await dependencies.lancedb.openTable(uri), 'n_idx'),
  };
  const target = `${folder}/t.lance`;
  await expect(mergeWal(attemptOn(target), { ...dependencies, lancedb })).rejects.toMatchObject({
    code: 'INDEX_COVERAGE_LOST',
    message: expect.stringContaining('dropped the index n_idx, which covered 30 rows'),
  });
});

/** A faulty engine: the version that it answers for a merge is one without the index. */
function droppingWithMerges(table: Table, name: string): Table {
  const native = Reflect.get(table, 'inner') as object;
  const within = (value: object): object =>
    new Proxy(value, {
      get(on, property) {
        const member = Reflect.get(on, property);
        if (typeof member !== 'function') return member;
        return (...words: unknown[]) => {
          const answer = member.apply(on, words);
          if (property === 'execute') {
            return answer.then(async (result: MergeResult) => {
              await table.checkoutLatest();
              await table.dropIndex(name);
              return { ...result, version: result.version + 1 };
            });
          }
          const builds = property === 'mergeInsert' || answer?.constructor === on.constructor;
          return builds ? within(answer) : answer;
        };
      },
    });
  Reflect.set(table, 'inner', within(native));
  return table;
}
