import { connect, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { placeHold, removeHold } from '../../../src/lance/hold-commit.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { compact } from '../../../src/work/compact.ts';
import { indexId } from '../../../src/work/index-id.ts';
import {
  createPlainTable,
  enableWal,
  expectedRows,
  flushGeneration,
  headOf,
  readRows,
  row,
  rows,
  sorted,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

/** A table of `fragments` fragments with 4 rows of about `rowBytes` each. */
async function wideTable(folder: string, fragments: number, rowBytes: number): Promise<Table> {
  const table = await (await connect(folder)).createTable('wide', wideRows(0, rowBytes));
  for (let fragment = 1; fragment < fragments; fragment += 1) await table.add(wideRows(fragment, rowBytes));
  return table;
}

/** LanceDB reads every version that is there with each optimize(): a thousand of them would be all that this test waits for. */
async function dropHistory(table: Table, target: string): Promise<void> {
  const options = { beforePut: async () => undefined };
  await placeHold(createFileObjectStore(target), [], options);
  await table.checkoutLatest();
  await table.optimize({ cleanupOlderThan: new Date(), deleteUnverified: true });
  await removeHold(createFileObjectStore(target), options);
}

function wideRows(fragment: number, rowBytes: number) {
  return [0, 1, 2, 3].map((n) => {
    const bytes = Buffer.alloc(rowBytes);
    // Noise, so that compression does not hide the size.
    for (let at = 0; at < rowBytes; at += 4)
      bytes.writeUInt32LE(Math.imul(at + fragment * 7919 + n, 2654435761) >>> 0, at);
    return { id: `f${fragment}-${n}`, n, bytes };
  });
}

describe('compacting with optimize', () => {
  it('small fragments become one, no row changes, and a second pass commits nothing', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/events.lance`;
    await createPlainTable(folder, 'events', rows(0, 200, 0), 20);
    const result = await compact(attemptOn(target), workDependencies());
    expect(result.compaction).toMatchObject({ strategy: 'optimize', fragmentsRemoved: 20, fragmentsAdded: 1 });
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expectedRows(rows(0, 200, 0))));
    const version = (await headOf(target)).version;
    const again = await compact(attemptOn(target), workDependencies());
    expect(again).toMatchObject({
      rewroteNothing: true,
      compaction: { strategy: 'none', fragmentsAdded: 0, fragmentsRemoved: 0 },
    });
    expect((await headOf(target)).version).toBe(version);
  });

  it('a table with a MemWAL index, which has no fields, is compacted and converges', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/events.lance`;
    const table = await createPlainTable(folder, 'events', rows(0, 100, 0), 10);
    await enableWal(table);
    await flushGeneration(table, [row(1, 1)]);
    await compact(attemptOn(target), workDependencies());
    expect((await headOf(target)).fragments).toHaveLength(1);
    expect((await headOf(target)).memWal).toBeDefined();
    expect((await compact(attemptOn(target), workDependencies())).rewroteNothing).toBe(true);
    expect((await readRows(target, { lsm: true })).get('key-000001')).toMatchObject({ n: 1n });
  });

  it('a retry after a crash between commit and settle still counts what the first attempt rewrote', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/events.lance`;
    await createPlainTable(folder, 'events', rows(0, 100, 0), 10);
    const base = (await headOf(target)).version;
    await compact(attemptOn(target), workDependencies());
    const retry = await compact(attemptOn(target, { base }), workDependencies());
    expect(retry).toMatchObject({
      rewroteNothing: false,
      compaction: { versionBefore: base, fragmentsAdded: 1, fragmentsRemoved: 10 },
    });
  });
});

describe('compacting within a byte limit', () => {
  const limits = { compactMaxBytes: 100_000, targetFragmentBytes: 80_000 };

  it('wide rows are rewritten in groups, once, and the table converges', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/wide.lance`;
    await wideTable(folder, 40, 4000);
    const before = await headOf(target);
    const content = sorted(await readRows(target, { lsm: false }));
    const result = await compact(attemptOn(target), workDependencies(limits));
    expect(result.compaction).toMatchObject({ strategy: 'bounded', fragmentsRemoved: 40 });
    expect(result.compaction?.bytesWritten).toBeLessThan((before.dataBytes as number) * 1.3);
    expect((await headOf(target)).fragments.length).toBeLessThan(10);
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(content);
    let passes = 0;
    while (!(await compact(attemptOn(target), workDependencies(limits))).rewroteNothing) passes += 1;
    expect(passes).toBeLessThanOrEqual(1);
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(content);
  });

  it('of 1,000 tiny fragments a limit of 32 sources takes 31 away with every commit, and it ends', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/wide.lance`;
    const table = await wideTable(folder, 1000, 40);
    await dropHistory(table, target);
    const first = (await headOf(target)).fragments[0]?.bytes as number;
    const dependencies = workDependencies({ compactMaxBytes: first * 40 });
    const result = await compact(attemptOn(target), dependencies);
    expect(result.compaction).toMatchObject({ strategy: 'bounded', fragmentsRemoved: 1000, fragmentsAdded: 32 });
    let passes = 1;
    while (!(await compact(attemptOn(target), dependencies)).rewroteNothing) passes += 1;
    expect(passes).toBeLessThan(5);
    expect((await headOf(target)).liveRows).toBe(4000);
  });

  it('no commit is begun for which twice the time of the slowest one is not left, and the rest is asked for', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/wide.lance`;
    await wideTable(folder, 40, 4000);
    // A clock by which every commit takes a minute, of which 100 s are left.
    let time = 0;
    const attempt = { ...attemptOn(target), remainingMs: () => 100_000 };
    const slow = {
      ...attempt,
      native: <T>(run: () => Promise<T>) => {
        time += 60_000;
        return run();
      },
    };
    const result = await compact(slow, { ...workDependencies(limits), now: () => time });
    expect(result).toMatchObject({
      partial: expect.stringMatching(/^\d+ groups of fragments left for the next pass$/),
      followUp: { kind: 'Compact', reason: 'fragments-remaining' },
    });
    const { fragments, indexes } = await headOf(target);
    expect(fragments.length).toBeGreaterThan(30);
    expect(indexes).toEqual([]);
  });

  it('deleted rows are dropped, and a delete that comes between two groups is kept', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/wide.lance`;
    const table = await wideTable(folder, 40, 4000);
    await table.delete("id LIKE 'f3-%' OR id = 'f7-1'");
    const attempt = attemptOn(target, {
      onFence: async (count) => {
        if (count === 2) await table.delete("id = 'f39-2'");
      },
    });
    await compact(attempt, workDependencies(limits));
    const left = await readRows(target, { lsm: false });
    expect(left.size).toBe(160 - 4 - 1 - 1);
    expect([...left.keys()].filter((id) => id.startsWith('f3-') || id === 'f7-1' || id === 'f39-2')).toEqual([]);
  });
});

describe('the key index task', () => {
  it('it builds a missing BTree, takes new fragments in with one commit and commits nothing when it covers all', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/events.lance`;
    const table = await createPlainTable(folder, 'events', rows(0, 3000, 0));
    const built = await indexId(attemptOn(target), workDependencies());
    expect(built.proof).toMatchObject({
      strategy: 'build',
      keyIndex: { kind: 'BTree', uncoveredFragments: 0, unindexedRows: 0 },
    });
    await table.checkoutLatest();
    const { plainTable } = await import('../../fixtures/tables.ts');
    await table.add(plainTable(rows(3000, 3010, 0)) as never);
    const extended = await indexId(attemptOn(target), workDependencies());
    expect(extended.proof).toMatchObject({ strategy: 'build', keyIndex: { uncoveredFragments: 0, unindexedRows: 0 } });
    const version = (await headOf(target)).version;
    expect((await indexId(attemptOn(target), workDependencies())).rewroteNothing).toBe(true);
    expect((await headOf(target)).version).toBe(version);
    await table.checkoutLatest();
    expect(await table.query().where("id = 'key-003005'").toArray()).toHaveLength(1);
  });
});
