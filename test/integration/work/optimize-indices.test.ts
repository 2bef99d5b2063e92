import { rm, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { HOLD_INDEX, holdIn } from '../../../src/lance/hold.ts';
import { placeHold } from '../../../src/lance/hold-commit.ts';
import { indexCoverage } from '../../../src/lance/index-coverage.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { compact } from '../../../src/work/compact.ts';
import { indexId } from '../../../src/work/index-id.ts';
import { optimizeIndices } from '../../../src/work/optimize-indices.ts';
import { answers, createSearchTable, openAnew, searchRow, searchRows } from '../../fixtures/search-table.ts';
import { headOf } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

const shape = { fragments: 3, rowsEach: 200, vectorIndex: 'IVF_FLAT' } as const;
const atOnce = { beforePut: async () => undefined };

async function outside(target: string): Promise<Record<string, number>> {
  const indexes = indexCoverage(await headOf(target));
  return Object.fromEntries(indexes.map(({ name, rowsOutside }) => [name, rowsOutside]));
}

/** A search table with 40 rows in two fragments that no index covers. */
async function tableWithTail() {
  const folder = temporaryFolder();
  const target = `${folder}/t.lance`;
  const table = await createSearchTable(folder, 't', shape);
  await table.add(searchRows(6000, 6020) as never);
  await table.add(searchRows(6020, 6040) as never);
  table.close();
  return target;
}

/** One of the files of an index, the one whose name contains `part`. */
async function indexFile(target: string, name: string, part: string): Promise<string> {
  const entry = (await headOf(target)).indexes.find((one) => one.name === name);
  const file = entry?.files.find(({ path }) => path.includes(part));
  return `${target}/_indices/${entry?.uuid}/${file?.path}`;
}

const ALL_ROWS = { id_idx: 0, label_idx: 0, text_idx: 0, vector_idx: 0 };

describe('the upkeep of indexes', () => {
  it('takes every row into every index and rewrites no data', async () => {
    const target = await tableWithTail();
    const before = await headOf(target);
    const result = await optimizeIndices(attemptOn(target), workDependencies());
    const after = await headOf(target);
    expect(await outside(target)).toEqual(ALL_ROWS);
    expect(after.fragments).toEqual(before.fragments);
    expect(holdIn(after)).toBeUndefined();
    expect(result).toMatchObject({ rewroteNothing: false, metrics: { indexes_extended: 4, indexes_left: 0 } });
    expect(result.problems).toBeUndefined();
    expect(result.proof.indexes).toContainEqual({
      name: 'text_idx',
      kind: 'Inverted',
      segments: 1,
      rowsOutsideBefore: 40,
      rowsOutsideAfter: 0,
    });
    const table = await openAnew(target);
    expect(
      (
        await table
          .query()
          .fullTextSearch('6033', { columns: ['text'] })
          .fastSearch()
          .toArray()
      ).length,
    ).toBe(1);
  });

  it('commits nothing when every index covers every row', async () => {
    const target = await tableWithTail();
    await optimizeIndices(attemptOn(target), workDependencies());
    const { version } = await headOf(target);
    const attempt = attemptOn(target);
    expect(await optimizeIndices(attempt, workDependencies())).toMatchObject({ rewroteNothing: true });
    expect([(await headOf(target)).version, attempt.fences.count]).toEqual([version, 0]);
  });

  it('takes away a hold that somebody left behind, also when nothing else is due', async () => {
    const target = await tableWithTail();
    await optimizeIndices(attemptOn(target), workDependencies());
    await placeHold(createFileObjectStore(target), [], atOnce);
    await optimizeIndices(attemptOn(target), workDependencies());
    expect(holdIn(await headOf(target))).toBeUndefined();
  });

  it('goes on over rows that a writer appends meanwhile, and leaves those for the next time', async () => {
    const target = await tableWithTail();
    const writer = await openAnew(target);
    const attempt = attemptOn(target, {
      // The second commit is LanceDB's own: the hold is there.
      onFence: async (count) => {
        if (count === 2) await writer.add(searchRows(7000, 7010) as never);
      },
    });
    const result = await optimizeIndices(attempt, workDependencies());
    expect(result.problems).toBeUndefined();
    expect(Math.max(...Object.values(await outside(target)))).toBeLessThanOrEqual(10);
    expect((await headOf(target)).liveRows).toBe(650);
  });
});

describe('an index that LanceDB cannot extend', () => {
  it('is named with its repair, when its files are gone, and every other index is extended', async () => {
    const target = await tableWithTail();
    await rm(await indexFile(target, 'text_idx', 'invert'));
    const result = await optimizeIndices(attemptOn(target), workDependencies());
    expect(await outside(target)).toEqual({ ...ALL_ROWS, text_idx: 40 });
    expect(result).toMatchObject({ partial: 'INDEX_NOT_EXTENDED: text_idx', rewroteNothing: false });
    expect(result.problems).toEqual([
      {
        subject: 'text_idx',
        code: 'INDEX_NOT_EXTENDED',
        disposition: 'permanent',
        message: expect.stringMatching(/^The index text_idx on text could not be extended: .*Not found/),
        next: expect.stringContaining('table.createIndex("text", { config: ..., name: "text_idx", replace: true })'),
      },
    ]);
  });

  it('keeps LanceDB from extending any, when its files are garbled: scalar ones are built anew, the rest is named', async () => {
    const target = await tableWithTail();
    const file = await indexFile(target, 'text_idx', 'docs');
    await writeFile(file, Buffer.alloc(200, 7), { flag: 'r+' });
    const result = await optimizeIndices(attemptOn(target), workDependencies());
    expect(await outside(target)).toEqual({ id_idx: 0, label_idx: 0, text_idx: 40, vector_idx: 40 });
    expect(result.proof).toMatchObject({ rebuilt: ['id_idx', 'label_idx'] });
    expect(result.problems?.map(({ subject }) => subject).sort()).toEqual(['text_idx', 'vector_idx']);
    expect(holdIn(await headOf(target))).toBeUndefined();
  });

  it('is built anew when it is a BTree that has lost its file, and then the others are extended', async () => {
    const target = await tableWithTail();
    await rm(await indexFile(target, 'id_idx', 'page_data'));
    const result = await optimizeIndices(attemptOn(target), workDependencies());
    expect(await outside(target)).toEqual(ALL_ROWS);
    expect(result.problems).toBeUndefined();
    expect(result.proof).toMatchObject({ rebuilt: expect.arrayContaining(['id_idx']) });
    const table = await openAnew(target);
    expect(await table.countRows("id = 'key-006033'")).toBe(1);
  });

  it('does not keep the key’s index back: IndexId builds it without the others', async () => {
    const target = await tableWithTail();
    await truncate(await indexFile(target, 'vector_idx', 'auxiliary'), 100);
    const result = await indexId(attemptOn(target), workDependencies());
    expect(result.proof).toMatchObject({ keyIndex: { uncoveredFragments: 0 } });
    expect((await outside(target)).id_idx).toBe(0);
  });

  it('is named by a compaction that cannot read it, which changes nothing', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    await createSearchTable(folder, 't', { ...shape, fragments: 6 });
    await rm(await indexFile(target, 'id_idx', 'page_data'));
    await expect(compact(attemptOn(target), workDependencies())).rejects.toMatchObject({
      code: 'INDEX_UNREADABLE',
      disposition: 'permanent',
      message: expect.stringContaining('id_idx'),
      next: expect.stringContaining('replace: true'),
    });
    expect((await headOf(target)).fragments).toHaveLength(6);
  });
});

describe('a bounded compaction that does not come to its end', () => {
  async function largeTable() {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    await createSearchTable(folder, 't', { fragments: 12, rowsEach: 60, vectorIndex: 'IVF_FLAT' });
    const { dataBytes } = await headOf(target);
    const limits = { compactMaxBytes: Math.ceil((dataBytes * 3.5) / 9), targetFragmentBytes: dataBytes * 10 };
    return { target, dependencies: workDependencies(limits) };
  }

  it('takes its hold away when it fails', async () => {
    const { target, dependencies } = await largeTable();
    const attempt = attemptOn(target, {
      onFence: (count) => {
        if (count === 4) throw new Error('out of order');
      },
    });
    await expect(compact(attempt, dependencies)).rejects.toThrow('out of order');
    expect(holdIn(await headOf(target))).toBeUndefined();
  });

  it('leaves it when it lost its lease, and the next attempt begins with taking it away', async () => {
    const { target, dependencies } = await largeTable();
    const expected = await answers(await openAnew(target), { base: true });
    let lost = false;
    const attempt = attemptOn(target, {
      onFence: (count) => {
        lost ||= count === 2;
        if (lost) throw new Error('lost');
      },
    });
    await expect(compact(attempt, dependencies)).rejects.toThrow('lost');
    expect(holdIn(await headOf(target))).toBeDefined();
    expect(await answers(await openAnew(target), { base: true })).toEqual(expected);
    const writer = await openAnew(target);
    await writer.add([searchRow(9000)] as never);

    await compact(attemptOn(target), dependencies);

    const after = await headOf(target);
    expect(after.indexes.map(({ name }) => name)).not.toContain(HOLD_INDEX);
    expect([after.fragments.length <= 5, after.liveRows]).toEqual([true, 721]);
    expect(await outside(target)).toEqual(ALL_ROWS);
  });

  it('loses nothing to a stranger’s optimize() that comes between its own commits', async () => {
    const { target, dependencies } = await largeTable();
    const expected = await answers(await openAnew(target), { base: true });
    const stranger = await openAnew(target);
    const attempt = attemptOn(target, {
      onFence: async (count) => {
        if (count !== 2) return;
        await stranger.checkoutLatest();
        await stranger.optimize();
      },
    });
    await compact(attempt, dependencies).catch((error: unknown) => {
      expect(error).toMatchObject({ disposition: 'contention' });
    });
    await compact(attemptOn(target), dependencies);
    expect(await answers(await openAnew(target), { base: true })).toEqual(expected);
    expect(await outside(target)).toEqual(ALL_ROWS);
  });
});
