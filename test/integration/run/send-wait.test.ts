import { expect, it } from 'vitest';
import type { SendReport } from '../../../src/upkeep/reports.ts';
import { commandJson } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, flushGeneration, readRows, row, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** A merge that was tried once, failed, and waits for its next try in a minute. */
async function waitingMerge() {
  const folder = temporaryFolder();
  const table = await createPlainTable(`${folder}/db`, 'events', rows(0, 20, 0));
  await enableWal(table);
  await flushGeneration(table, [row(1, 1)]);
  table.close();
  const target = `${folder}/db/events.lance`;
  const send = (words: readonly string[], environment: Record<string, string> = {}, kind = 'MergeWal') =>
    commandJson<SendReport>(
      ['send', kind, target, '--wait', '--ledger', `${folder}/ledger.sqlite`, ...words],
      environment,
    );
  const first = await send([], { INDEX_BEFORE_MERGE: 'false' });
  expect(first.report.task).toMatchObject({ state: 'queued', attempts: 1, error: { code: 'KEY_INDEX_MISSING' } });
  return { target, send, first: first.report };
}

it('send --force --wait runs a task that waits for its next try, and ends with its outcome', async () => {
  const { target, send, first } = await waitingMerge();
  const { code, report } = await send(['--force']);

  expect(report).toMatchObject({ joined: true, task: { id: first.taskId, state: 'done', attempts: 2 } });
  expect(code).toBe(0);
  expect((await readRows(target, { lsm: false })).get('key-000001')).toMatchObject({ n: 1n });
});

it('send --force --wait ends with the error of its own attempt when that fails, too', async () => {
  const { send } = await waitingMerge();
  const { code, report } = await send(['--force'], { INDEX_BEFORE_MERGE: 'false' });

  expect(report.task).toMatchObject({ state: 'queued', attempts: 2, error: { code: 'KEY_INDEX_MISSING' } });
  expect(code).toBe(1);
});

it('send --wait without --force says when the task is tried again instead of waiting for it', async () => {
  const { send } = await waitingMerge();
  for (let failures = 2; failures <= 3; failures += 1) await send(['--force'], { INDEX_BEFORE_MERGE: 'false' });
  const { code, report, stderr } = await send([]);

  expect(report.task).toMatchObject({ state: 'queued', attempts: 3, notBefore: expect.any(String) });
  expect(stderr).toContain(`It is tried again at ${report.task.notBefore}`);
  expect(code).toBe(1);
});

it('a task that waits for one that cools down is not waited for', async () => {
  const { send, first } = await waitingMerge();
  const { code, report } = await send(['--depends-on', first.taskId], {}, 'Compact');

  expect(report.task).toMatchObject({ kind: 'Compact', state: 'waiting', dependsOn: [first.taskId] });
  expect(code).toBe(75);
});
