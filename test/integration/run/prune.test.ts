import { expect, it } from 'vitest';
import type { ExplainReport, InspectReport, PrunePreview, RunReport } from '../../../src/upkeep/reports.ts';
import { commandJson } from '../../fixtures/command.ts';
import { createPlainTable, readRows, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { age, bytesBelow, commitRewrites, filesBelow, versionsOnDisk } from '../../fixtures/version-story.ts';

const day = 86_400_000;

it('a table that never needs a compaction is pruned by a run, as a dry run had foretold, and a second run leaves it alone', async () => {
  const folder = temporaryFolder();
  const target = `${folder}/db/t.lance`;
  const ledger = ['--ledger', `${folder}/ledger.sqlite`];
  const table = await createPlainTable(`${folder}/db`, 't', rows(0, 64, 0));
  table.close();
  age(target, 40 * day);
  await commitRewrites(
    target,
    Array.from({ length: 38 }, (_, index) => (37 - index) * day),
  );

  const before = filesBelow(folder);
  const dry = await commandJson<PrunePreview>(['send', 'Prune', target, '--dry-run', ...ledger]);
  expect(dry).toMatchObject({ code: 0, report: { versions: 40, prunableVersions: 32, retentionOf: 'settings' } });
  expect(dry.report.plan.manifests).toHaveLength(32);
  const left = filesBelow(folder).filter((path) => !path.startsWith(`${folder}/ledger.sqlite`));
  expect(left).toEqual(before);

  const explained = await commandJson<ExplainReport>(['explain', target, ...ledger]);
  expect(explained.report.plan.map(({ kind }) => kind)).toContain('Prune');
  const inspected = await commandJson<InspectReport>(['inspect', target, ...ledger]);
  expect(inspected.report.versions).toMatchObject({ count: 40, prunable: 32 });
  expect(inspected.report.versions?.prunableBytes).toBeLessThanOrEqual(dry.report.bytes);

  const bytes = bytesBelow(target);
  const { report, code } = await commandJson<RunReport>(['run', `${folder}/db`, '--once', ...ledger]);
  expect(code).toBe(0);
  const pruned = report.tasks.filter(({ kind }) => kind === 'Prune');
  expect(pruned).toMatchObject([{ state: 'done', reasons: [expect.stringContaining('versions-age')] }]);
  expect(report.tasks.map(({ kind }) => kind)).not.toContain('Compact');
  expect(pruned[0]?.result?.metrics).toMatchObject({
    prune_versions_removed: 32,
    prune_bytes_removed: dry.report.bytes,
  });
  expect(versionsOnDisk(target)[0]).toBe(33);
  expect(bytesBelow(target)).toBeLessThan(bytes);
  expect((await readRows(target, { lsm: false })).size).toBe(64);

  const second = await commandJson<RunReport>(['run', `${folder}/db`, '--once', ...ledger]);
  expect(second).toMatchObject({ code: 0, report: { tasks: [] } });
});
