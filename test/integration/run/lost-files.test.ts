import { readdirSync, rmSync } from 'node:fs';
import { connect, Index } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import type { InspectReport, RunReport, SendReport, StatusReport } from '../../../src/upkeep/reports.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import {
  createPlainTable,
  enableWal,
  flushGeneration,
  headOf,
  plainTable,
  readRows,
  row,
  rows,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** A table with a BTree that covers all its rows, and a generation that waits. */
async function indexedStore() {
  const folder = temporaryFolder();
  const target = `${folder}/db/events.lance`;
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 200, 0), 4);
  await table.delete("id = 'key-000007'");
  await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await enableWal(table);
  await flushGeneration(table, [row(1, 1)]);
  table.close();
  const ledger = ['--ledger', `${folder}/ledger.sqlite`];
  return {
    folder,
    target,
    inspect: async () => (await commandJson<InspectReport>(['inspect', target, ...ledger])).report,
    run: () => commandJson<RunReport>(['run', `${folder}/db`, ...ledger]),
    status: async () => (await commandJson<StatusReport>(['status', ...ledger])).report.tables[0],
    send: (kind: string) => commandJson<SendReport>(['send', kind, target, '--wait', ...ledger]),
    screen: async () => (await startCommand(['inspect', target, ...ledger]).ended).stdout,
  };
}

function loseIndexes(target: string): void {
  for (const folder of readdirSync(`${target}/_indices`)) rmSync(`${target}/_indices/${folder}`, { recursive: true });
}

describe('a BTree whose folder is gone', () => {
  it('is seen by inspect, which does not say that all is covered', async () => {
    const store = await indexedStore();
    loseIndexes(store.target);

    expect((await store.inspect()).keyIndex).toMatchObject({
      filesMissing: true,
      coveredFragments: 0,
      unindexedRows: 199,
    });
    expect(await store.screen()).toContain('id_idx, BTree, its files are gone');
    expect(await store.screen()).not.toContain('all rows');
  });

  it('is built anew by IndexId', async () => {
    const store = await indexedStore();
    loseIndexes(store.target);
    const { report } = await store.send('IndexId');

    expect(report.task).toMatchObject({ state: 'done', result: { rewroteNothing: false } });
    expect((await store.inspect()).keyIndex).toMatchObject({ filesMissing: false, unindexedRows: 0 });
    const table = await (await connect(`${store.folder}/db`)).openTable('events');
    expect(await table.query().useLsm(false).where("id = 'key-000003'").toArray()).toHaveLength(1);
  });

  it('is built anew by a run, before the merge that goes through it', async () => {
    const store = await indexedStore();
    loseIndexes(store.target);
    const { code, report } = await store.run();

    expect(code).toBe(0);
    const index = report.tasks.find(({ kind }) => kind === 'IndexId');
    expect(index?.reasons.join()).toContain('The files of the index id_idx on id are gone.');
    expect(report.tasks.find(({ kind }) => kind === 'MergeWal')).toMatchObject({
      state: 'done',
      attempts: 1,
      dependsOn: [index?.id],
    });
    expect((await readRows(store.target, { lsm: false })).get('key-000001')).toMatchObject({ n: 1n });
  });

  it('is what a merge says that met it, and the next run builds it and merges at once', async () => {
    const store = await indexedStore();
    loseIndexes(store.target);
    const { report } = await store.send('MergeWal');
    expect(report.task).toMatchObject({
      state: 'queued',
      error: { code: 'INDEX_FILES_MISSING', disposition: 'failure' },
    });
    expect(report.task.error?.next).toContain('IndexId');

    const { code, report: run } = await store.run();
    expect(code).toBe(0);
    expect(run.tasks.find(({ id }) => id === report.taskId)).toMatchObject({ state: 'done', attempts: 2 });
  });
});

it.each(['Bitmap', 'Inverted'])(
  'another index (%s) whose files are gone is named, and built anew where that needs no parameters',
  async (kind) => {
    const store = await indexedStore();
    const table = await (await connect(`${store.folder}/db`)).openTable('events');
    const config = kind === 'Bitmap' ? Index.bitmap() : Index.fts();
    await table.createIndex('payload', { config, name: 'other_idx' });
    for (let id = 300; id < 320; id += 1) await table.add(plainTable([row(id, 1)]) as never);
    table.close();
    const lost = (await headOf(store.target)).indexes.find(({ name }) => name === 'other_idx');
    rmSync(`${store.target}/_indices/${lost?.uuid}`, { recursive: true });
    const other = async () => (await store.inspect()).indexes.find(({ name }) => name === 'other_idx');

    const { keyIndex, error } = await store.inspect();
    expect(keyIndex).toMatchObject({ filesMissing: false });
    expect(await other()).toMatchObject({ kind, filesMissing: true, rowsOutside: 219 });
    expect(error).toMatchObject({ code: 'INDEX_FILES_MISSING', next: expect.stringContaining('table.createIndex') });

    await store.run();
    if (kind === 'Bitmap') {
      expect(await other()).toMatchObject({ kind, filesMissing: false, rowsOutside: 0 });
      expect(await store.status()).toMatchObject({ attention: false, facts: { fragments: 1 } });
      return;
    }
    // Its parameters are known to its maker alone, and a compaction would drop it: it stays as it is, and says so.
    expect(await other()).toMatchObject({ kind, filesMissing: true });
    const sentence = expect.stringContaining('INDEX_FILES_MISSING: The index other_idx');
    expect(await store.status()).toMatchObject({ attention: true, reasons: expect.arrayContaining([sentence]) });
  },
);

describe.each([
  ['data file', 'data', ({ files }: { files: readonly { path: string }[] }) => `data/${files[0]?.path}`],
  ['deletion file', '_deletions', ({ deletionFile }: { deletionFile?: string }) => `${deletionFile}`],
])('a lost %s', (_what, prefix, keyOf) => {
  it('is named by inspect, and refused once by whatever meets it, with what can be done', async () => {
    const store = await indexedStore();
    const head = await headOf(store.target);
    const key = head.fragments.map((fragment) => keyOf(fragment as never)).find((one) => one.startsWith(prefix)) ?? '';
    rmSync(`${store.target}/${key}`);
    const error = {
      code: 'TABLE_FILES_MISSING',
      disposition: 'permanent',
      message: expect.stringContaining(key),
      next: expect.stringContaining('backup'),
    };

    expect((await store.inspect()).error).toMatchObject(error);
    expect(await store.screen()).toContain('TABLE_FILES_MISSING');
    const { code, report } = await store.send('Compact');
    expect([code, report.task]).toMatchObject([1, { state: 'failed', attempts: 1, error }]);
    expect((await headOf(store.target)).version).toBe(head.version);
  });
});
