import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { demand } from '../../../src/fleet/demand.ts';
import type { TableFacts } from '../../../src/fleet/facts.ts';
import { observe } from '../../../src/fleet/observe.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { previewPrune } from '../../../src/upkeep/preview-prune.ts';
import { createPlainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { age, commitConfig, commitRewrites } from '../../fixtures/version-story.ts';
import { workDependencies } from '../../fixtures/work.ts';

const settings = loadSettings({});
const hour = 3_600_000;
const day = 24 * hour;

/** 60 versions a day apart. */
async function oldTable() {
  const folder = temporaryFolder();
  const target = `${folder}/t.lance`;
  await createPlainTable(folder, 't', rows(0, 64, 0));
  age(target, 60 * day);
  await commitRewrites(
    target,
    Array.from({ length: 58 }, (_, index) => (57 - index) * day),
  );
  return { folder, target };
}

function look(target: string, now = Date.now(), previous?: TableFacts) {
  return observe(createFileObjectStore(target), target, settings, now, previous);
}

describe('the versions of a table', () => {
  it('are counted as a prune would judge them, tags and all, and the bytes are no more than it frees', async () => {
    const { folder, target } = await oldTable();
    for (const version of [5, 20, 21, 40]) {
      await (await (await (await connect(folder)).openTable('t')).tags()).create(`v${version}`, version);
    }
    const { versions } = await look(target);
    const preview = await previewPrune(workDependencies(), target);
    expect(versions).toMatchObject({ count: 60, prunable: preview.prunableVersions, retentionMs: 7 * day });
    expect(versions?.prunable).toBe(60 - 8 - 4);
    expect(versions?.prunableBytes).toBeLessThanOrEqual(preview.bytes);
    // More than the manifests alone.
    expect(versions?.prunableBytes).toBeGreaterThan(preview.classes.manifests?.bytes ?? 0);
    expect(versions?.oldestPrunable).toBe(versions?.oldest);
  });

  it("follow the table's own retention", async () => {
    const { target } = await oldTable();
    await commitConfig(target, { 'lance.auto_cleanup.older_than': '30d' });
    expect((await look(target)).versions).toMatchObject({ retentionMs: 30 * day, prunable: 61 - 32 });
  });

  it('make a table that nobody writes to due for a prune, when its versions leave the retention', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    const table = await createPlainTable(folder, 't', rows(0, 8, 0), 8);
    table.close();
    const now = Date.now();
    const fresh = await look(target, now);
    expect(fresh.versions).toMatchObject({ count: 9, prunable: 0 });
    const soon = await look(target, now + day, fresh);
    expect(soon.versions?.measuredAt).toBe(now);
    const due = (facts: TableFacts, at: number) =>
      demand(facts, { settings, health: {}, now: at, sweep: 'tails' }).flatMap((one) => (one.due ? one.rule : []));
    const aged = await look(target, now + 7 * day + hour, soon);
    expect(aged.versions?.prunable).toBe(6);
    // The newest version still needs every data file.
    const preview = await previewPrune({ ...workDependencies(), now: () => now + 7 * day + hour }, target);
    expect(aged.versions?.prunableBytes).toBe(preview.classes.manifests?.bytes);
    expect(due(aged, now + 7 * day + hour)).toEqual([]);
    const late = await look(target, now + 8 * day + hour, aged);
    expect(due(late, now + 8 * day + hour)).toEqual(['versions-age']);
  });

  it('are counted with the reason why they cannot be pruned, and hide nothing else', async () => {
    const { target } = await oldTable();
    mkdirSync(join(target, '_refs/branches'), { recursive: true });
    writeFileSync(join(target, '_refs/branches/side.json'), '{}');
    const facts = await look(target);
    expect(facts).toMatchObject({ rows: 64, versions: { count: 60, prunable: 0 } });
    expect(facts.versions?.refused).toContain('_refs/branches/side.json');
    expect(facts.error).toBeUndefined();
  });
});
