import { expect, it } from 'vitest';
import type { RunReport, SendReport, TaskReport } from '../../../src/upkeep/reports.ts';
import { commandJson } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, flushGeneration, readRows, row, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const withoutBuild = { INDEX_BEFORE_MERGE: 'false' };

/** A table that waits for a merge and has no index on its key. */
async function storeWithoutIndex(base: number) {
  const folder = temporaryFolder();
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, base, 0));
  await enableWal(table);
  for (let generation = 1; generation <= 9; generation += 1) await flushGeneration(table, [row(1, generation)]);
  table.close();
  const ledger = ['--ledger', `${folder}/ledger.sqlite`];
  return {
    run: () => commandJson<RunReport>(['run', `${folder}/db`, ...ledger], withoutBuild),
    send: (kind: string) =>
      commandJson<SendReport>(['send', kind, `${folder}/db/events.lance`, '--wait', ...ledger], withoutBuild),
    value: async () => (await readRows(`${folder}/db/events.lance`, { lsm: false })).get('key-000001')?.n,
  };
}

function firstOf(report: RunReport, kind: string): TaskReport | undefined {
  return report.tasks.find((task) => task.kind === kind);
}

it('with INDEX_BEFORE_MERGE=false a merge waits for the IndexId of the same sweep, and does not fail', async () => {
  const store = await storeWithoutIndex(20);
  const { code, report } = await store.run();

  expect(code).toBe(0);
  const index = firstOf(report, 'IndexId');
  expect(firstOf(report, 'MergeWal')).toMatchObject({ state: 'done', attempts: 1, dependsOn: [index?.id] });
  expect(await store.value()).toBe(9n);
});

it('a merge that cools down for want of an index runs in the next sweep once the index is there', async () => {
  const store = await storeWithoutIndex(20);
  const failed = await store.send('MergeWal');
  expect(failed.report.task).toMatchObject({ state: 'queued', error: { code: 'KEY_INDEX_MISSING' } });
  await store.send('IndexId');
  const { code, report } = await store.run();

  expect(code).toBe(0);
  expect(report.tasks.find(({ id }) => id === failed.report.taskId)).toMatchObject({ state: 'done', attempts: 2 });
  expect(await store.value()).toBe(9n);
});

it('an empty base table is merged into as well', async () => {
  const store = await storeWithoutIndex(0);
  const { code } = await store.run();

  expect(code).toBe(0);
  expect(await store.value()).toBe(9n);
});
