import { expect, it } from 'vitest';
import type { RunReport, StatusReport } from '../../../src/upkeep/reports.ts';
import { commandJson, startCommand } from '../../fixtures/command.ts';
import { createPlainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

it('on a paused table nothing begins until it is resumed, while the table beside it is maintained', async () => {
  const folder = temporaryFolder();
  for (const name of ['held', 'free']) (await createPlainTable(`${folder}/db`, name, rows(0, 200, 0), 20)).close();
  const ledger = ['--ledger', `${folder}/ledger.sqlite`];
  const held = `${folder}/db/held.lance`;
  const paused = await startCommand(['pause', held, '--reason', 'a restore', '--by', 'ana', ...ledger]).ended;
  expect(paused.code).toBe(0);

  const first = await commandJson<RunReport>(['run', `${folder}/db`, ...ledger]);
  const fragmentsOf = (report: RunReport, name: string) =>
    report.tables.find(({ target }) => target.endsWith(`/${name}.lance`))?.fragments;
  expect([fragmentsOf(first.report, 'held'), fragmentsOf(first.report, 'free')]).toEqual([20, 1]);
  const { report: status } = await commandJson<StatusReport>(['status', `${folder}/db`, ...ledger]);
  expect(status.pauses).toMatchObject([{ scope: held, by: 'ana', reason: 'a restore' }]);
  const messages = status.tables.find(({ target }) => target === held)?.reasons.join(' ');
  expect(messages).toMatch(/This table is paused since .+ by ana: a restore/);

  const waiting = await startCommand(['send', 'Compact', held, '--wait', ...ledger]).ended;
  expect(waiting.code).toBe(75);

  expect((await startCommand(['resume', held, ...ledger]).ended).code).toBe(0);
  const second = await commandJson<RunReport>(['run', `${folder}/db`, ...ledger]);
  expect(fragmentsOf(second.report, 'held')).toBe(1);
  expect(await startCommand(['resume', held, ...ledger]).ended).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('PAUSE_NOT_FOUND'),
  });
});
