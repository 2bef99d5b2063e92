import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startCommand } from '../../fixtures/command.ts';
import { createPlainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

it('a run that watches a root ends with the sweep that finds another ledger’s marker there', async () => {
  const folder = temporaryFolder();
  (await createPlainTable(`${folder}/db`, 'events', rows(0, 20, 0), 2)).close();
  const words = ['run', `${folder}/db`, '--watch', '--ledger', `${folder}/ledger.sqlite`];
  const run = startCommand(words, { COMPACTION_INTERVAL: '1' });
  await run.says('compaction: 1 tables read');
  const file = `${folder}/db/_lance_upkeep/owner.json`;
  const marker = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...marker, ledgerId: 'another', ledger: '/data/another.sqlite' }));
  const { code, stderr } = await run.ended;

  expect(code).toBe(1);
  expect(stderr).toContain('ROOT_OWNED');
  expect(stderr).toContain('/data/another.sqlite');
});
