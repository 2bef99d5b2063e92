import { connect } from '@lancedb/lancedb';
import { expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { listShards, readNewestShardManifest } from '../../../src/lance/shards.ts';
import { openUpkeep } from '../../../src/local/open-upkeep.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import type { RunReport } from '../../../src/upkeep/reports.ts';
import {
  createPlainTable,
  enableWal,
  expectedRows,
  flushBuckets,
  flushGeneration,
  type PlainRow,
  readRows,
  row,
  rows,
  sorted,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** Runs the embedded product on a folder until nothing is runnable. */
async function maintain(folder: string, environment: Record<string, string>): Promise<RunReport> {
  const settings = loadSettings(environment);
  const upkeep = await openUpkeep({ roots: [`${folder}/db`], ledgerFile: `${folder}/ledger.sqlite`, settings });
  try {
    return await upkeep.run({ once: true, signal: new AbortController().signal });
  } finally {
    await upkeep.close();
  }
}

async function shardsOf(target: string) {
  const store = createFileObjectStore(target);
  const shardIds = await listShards(store);
  return Promise.all(
    shardIds.map(async (shardId) => {
      const manifest = await readNewestShardManifest(store, shardId);
      const { prefixes } = await store.list(`_mem_wal/${shardId}/`, { delimiter: '/' });
      const directories = prefixes
        .map((prefix) => prefix.split('/').at(-2) ?? '')
        .filter((name) => name.includes('_gen_'));
      return { listed: manifest?.generations.map(({ path }) => path) ?? [], directories };
    }),
  );
}

it('after 40 merges with index upkeep the fragments are compacted, the BTree covers all and only listed directories are left', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/events.lance`;
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 300, 0));
  await enableWal(table);
  const layers: PlainRow[][] = [rows(0, 300, 0)];
  let fragments = 0;
  let commits = 0;
  for (let merge = 1; merge <= 40; merge += 1) {
    const layer = [...rows(merge * 3, merge * 3 + 5, merge), row(1000 + merge, merge)];
    layers.push(layer);
    await flushGeneration(table, layer);
    const report = await maintain(folder, { GENERATION_RETENTION: '0', MIN_FRAGMENTS: '4' });
    expect(report.tasks.filter((task) => task.state !== 'done')).toEqual([]);
    const [store] = report.tables;
    fragments = Math.max(fragments, store?.fragments ?? 0);
    commits = store?.version ?? 0;
    expect(store).toMatchObject({
      keyIndex: { kind: 'BTree', unindexedRows: 0 },
      wal: { shards: [{ watermark: merge, pendingGenerations: 0 }] },
    });
  }
  expect(fragments).toBeLessThan(6);
  expect(commits).toBeLessThan(40 * 6);
  for (const { listed, directories } of await shardsOf(target)) expect(directories).toEqual(listed);
  for (const lsm of [true, false]) {
    expect(sorted(await readRows(target, { lsm }))).toEqual(sorted(expectedRows(...layers)));
  }
});

it('a shard whose writer is gone for good is merged to empty with nothing configured', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/events.lance`;
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 20, 0));
  await enableWal(table);
  await flushGeneration(table, [row(3, 1)]);
  table.close();
  const merged = await maintain(folder, {});
  expect(merged.tables).toMatchObject([{ wal: { shards: [{ watermark: 1, pendingGenerations: 0 }] } }]);
  // An hour later, which here is a retention of nothing.
  await maintain(folder, { GENERATION_RETENTION: '0' });
  expect(await shardsOf(target)).toEqual([{ listed: [], directories: [] }]);
  expect((await readRows(target, { lsm: true })).get('key-000003')).toMatchObject({ n: 1n });
});

it('20 shards of one table are merged by one committer at a time, without a single conflict', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/events.lance`;
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 200, 0));
  await table.setUnenforcedPrimaryKey('id');
  await table.setLsmWriteSpec({ specType: 'bucket', column: 'id', numBuckets: 20 });
  const layers = [rows(0, 200, 1), rows(100, 300, 2)];
  for (const layer of layers) await flushBuckets(`${folder}/db`, 'events', 20, layer);
  const report = await maintain(folder, {});
  expect(report.tasks.filter((task) => task.attempts !== 1 || task.error !== null)).toEqual([]);
  expect(
    report.tables[0]?.wal?.shards.filter((shard) => shard.watermark !== 2 || shard.pendingGenerations > 0),
  ).toEqual([]);
  expect(report.tables[0]?.wal?.shards).toHaveLength(20);
  expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expectedRows(rows(0, 200, 0), ...layers)));
});

it('two runners on one ledger share the work, and every merge is done once', async () => {
  const folder = temporaryFolder();
  const expected = new Map<string, PlainRow[][]>();
  for (const name of ['a', 'b', 'c']) {
    const table = await createPlainTable(`${folder}/db`, name, rows(0, 60, 0), 18);
    await enableWal(table);
    const layers = [
      rows(0, 60, 0),
      ...Array.from({ length: 9 }, (_, g) => [...rows(g, g + 8, g + 1), row(500 + g, g)]),
    ];
    for (const layer of layers.slice(1)) await flushGeneration(table, layer);
    expected.set(name, layers);
  }
  const reports = await Promise.all([maintain(folder, {}), maintain(folder, {})]);
  // The first to end may still see what the other one runs.
  for (const report of reports) expect(report.tasks.filter((task) => task.state === 'failed')).toEqual([]);
  for (const [name, layers] of expected) {
    const target = `${folder}/db/${name}.lance`;
    for (const lsm of [true, false])
      expect(sorted(await readRows(target, { lsm }))).toEqual(sorted(expectedRows(...layers)));
  }
  const again = await maintain(folder, {});
  expect(again.tasks).toEqual([]);
});

it('a table that cannot shrink is not compacted again while its version is the same', async () => {
  const folder = temporaryFolder();
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 100, 0), 10);
  await (await connect(`${folder}/db`)).openTable('events');
  table.close();
  const first = await maintain(folder, { MIN_FRAGMENTS: '1' });
  expect(first.tasks.map((task) => task.kind)).toContain('Compact');
  const second = await maintain(folder, { MIN_FRAGMENTS: '1' });
  expect(second.tasks).toEqual([]);
  expect(second.tables[0]?.version).toBe(first.tables[0]?.version);
});

it('a table that was dropped leaves the status with the next run, and its history stays', async () => {
  const folder = temporaryFolder();
  for (const name of ['kept', 'dropped']) (await createPlainTable(`${folder}/db`, name, rows(0, 20, 0), 2)).close();
  await maintain(folder, { MIN_FRAGMENTS: '2' });
  await (await connect(`${folder}/db`)).dropTable('dropped');
  await maintain(folder, {});
  const settings = loadSettings({});
  const upkeep = await openUpkeep({ roots: [`${folder}/db`], ledgerFile: `${folder}/ledger.sqlite`, settings });
  const status = await upkeep.status();
  const history = await upkeep.history({ limit: 100 });
  await upkeep.close();
  expect(status.tables.map(({ target }) => target)).toEqual([`${folder}/db/kept.lance`]);
  expect(history.tasks.some(({ target }) => target.endsWith('dropped.lance'))).toBe(true);
});
