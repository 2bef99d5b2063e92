import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { previewPrune } from '../../../src/upkeep/preview-prune.ts';
import { prune } from '../../../src/work/prune.ts';
import { pruneLimits } from '../../../src/work/prune-batch.ts';
import { createPlainTable, headOf, plainTable, readRows, row, rows, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import {
  age,
  bytesBelow,
  commitConfig,
  commitRewrites,
  filesBelow,
  versionsOnDisk,
} from '../../fixtures/version-story.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

const hour = 3_600_000;
const day = 24 * hour;
/** Without the moment before the files: a test waits for what it wants to see. */
const limits = { ...pruneLimits, restoreGraceMs: 0 };

/** 64 rows, `count` versions, the last of them now and each as much older than the next as `spacing` says. */
async function oldTable(count: number, spacing: number): Promise<{ folder: string; target: string; table: Table }> {
  const folder = temporaryFolder();
  const target = `${folder}/t.lance`;
  const table = await createPlainTable(folder, 't', rows(0, 64, 0));
  age(target, count * spacing + hour);
  await commitRewrites(
    target,
    Array.from({ length: count - 2 }, (_, index) => (count - 3 - index) * spacing),
  );
  return { folder, target, table };
}

async function open(folder: string): Promise<Table> {
  return (await connect(folder)).openTable('t');
}

describe('pruning old versions', () => {
  it('2,000 versions of 64 rows go down to the retention; a tag in the middle, its files and a reader stay', async () => {
    const { folder, target } = await oldTable(2_000, 15 * 60_000);
    const tagged = 900;
    await (await (await open(folder)).tags()).create('release', tagged);
    const reader = await open(folder);
    // Two days old: within the retention.
    await reader.checkout(2_000 - 192);
    const before = bytesBelow(target);
    const filesBefore = filesBelow(target).length;

    const result = await prune(attemptOn(target), workDependencies(), limits);

    const retained = 7 * 96;
    const expected = [tagged, ...Array.from({ length: retained + 1 }, (_, index) => 2_000 - retained + index)];
    expect(versionsOnDisk(target)).toEqual(expected);
    expect(result.proof).toMatchObject({
      versionsBefore: 2_000,
      versionsRemoved: 2_000 - expected.length,
      versionsRetained: { head: 1, tagged: 1, recent: retained - 1, newestAtCutoff: 1 },
      retentionOf: 'settings',
      orphansRemoved: 0,
    });
    const given = before - bytesBelow(target);
    expect(result.proof.bytesRemoved).toBe(given);
    expect(result.metrics).toMatchObject({ prune_bytes_removed: given });
    const removedFiles = filesBefore - filesBelow(target).length;
    expect(removedFiles).toBe(Number(result.proof.filesRemoved) + Number(result.proof.versionsRemoved));
    expect(readdirSync(join(target, 'data'))).toHaveLength(expected.length);
    expect(existsSync(`${folder}/_lance_upkeep`)).toBe(false);

    expect(await reader.query().toArray()).toHaveLength(64);
    const atTag = await open(folder);
    await atTag.checkout('release');
    expect(await atTag.query().toArray()).toHaveLength(64);
    await expect(open(folder).then((table) => table.checkout(tagged + 1))).rejects.toThrow('not found');

    const again = await prune(attemptOn(target), workDependencies(), limits);
    expect(again).toMatchObject({ rewroteNothing: true, proof: { versionsRemoved: 0, filesRemoved: 0 } });
  });

  it('LanceDB goes on with the table: it lists versions, adds, merges, optimizes, restores the tag', async () => {
    const { folder, target } = await oldTable(40, day);
    await (await (await open(folder)).tags()).create('release', 10);
    await prune(attemptOn(target), workDependencies(), limits);
    const table = await open(folder);
    expect((await table.listVersions()).map(({ version }) => version)).toEqual(versionsOnDisk(target));
    await table.add(plainTable(rows(64, 70, 1)) as never);
    await upsert(table).execute(plainTable([row(1, 5)]) as never);
    await table.delete("id = 'key-000002'");
    await table.optimize({ cleanupOlderThan: new Date(0) });
    expect((await readRows(target, { lsm: false })).size).toBe(69);
    const old = await open(folder);
    await old.checkout('release');
    await old.restore();
    expect((await readRows(target, { lsm: false })).size).toBe(64);
    await prune(attemptOn(target), workDependencies(), limits);
    expect((await readRows(target, { lsm: false })).size).toBe(64);
  });

  it('deletion files and index folders go with the versions that named them, and what is alive stays', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    const table = await createPlainTable(folder, 't', rows(0, 64, 0));
    for (let n = 0; n < 4; n += 1) {
      const { Index } = await import('@lancedb/lancedb');
      await table.createIndex('id', { config: Index.btree(), name: 'id_idx', replace: true });
      await table.delete(`id = '${row(n, 0).id}'`);
    }
    age(target, 30 * day);
    await table.add(plainTable(rows(64, 65, 0)) as never);
    const before = bytesBelow(target);
    const result = await prune(attemptOn(target), workDependencies({ pruneKeepVersions: 1 }), limits);
    const head = await headOf(target);
    expect(result.proof).toMatchObject({
      bytesRemoved: before - bytesBelow(target),
      removed: { deletions: { files: 3 }, indexes: { files: 6 }, data: { files: 0 } },
    });
    expect(readdirSync(join(target, '_indices'))).toEqual([head.indexes[0]?.uuid]);
    expect(readdirSync(join(target, '_deletions'))).toHaveLength(1);
    const fresh = await open(folder);
    expect(await fresh.query().where("id = 'key-000010'").toArray()).toHaveLength(1);
    expect(await fresh.countRows()).toBe(61);
  });

  it("an owner's 30 days in the table's config are not cut to the 7 of the settings, and so are more versions", async () => {
    const { target } = await oldTable(60, day);
    await commitConfig(target, { 'lance.auto_cleanup.older_than': '30days', 'lance.auto_cleanup.interval': '0' });
    const result = await prune(attemptOn(target), workDependencies(), limits);
    // The head of now, versions of up to 30 days, and the one before those.
    expect(versionsOnDisk(target)).toEqual(Array.from({ length: 32 }, (_, index) => 61 - 31 + index));
    expect(result.proof).toMatchObject({ retentionMs: 30 * day, retentionOf: 'table' });
    await commitConfig(target, {
      'lance.auto_cleanup.older_than': '1d',
      'lance.auto_cleanup.retain_versions': '10',
    });
    await prune(attemptOn(target), workDependencies(), limits);
    expect(versionsOnDisk(target)).toEqual(Array.from({ length: 10 }, (_, index) => 53 + index));
    expect((await readRows(target, { lsm: false })).size).toBe(64);
  });

  it('files of a commit under way stay, orphans of 7 days go, and nothing is touched whose name is not understood', async () => {
    const { folder, target, table } = await oldTable(30, day);
    const put = (key: string, days: number) => {
      mkdirSync(join(target, key, '..'), { recursive: true });
      writeFileSync(join(target, key), 'content');
      const at = new Date(Date.now() - days * day);
      utimesSync(join(target, key), at, at);
    };
    const index = `_indices/${randomUUID()}`;
    const young = [
      'data/0a1b.lance',
      '_deletions/0-31-77.arrow',
      `${index}/page_data.lance`,
      `_transactions/31-${randomUUID()}.txn`,
    ];
    const old = ['data/0a1c.lance', '_deletions/0-2-78.bin', `_transactions/2-${randomUUID()}.txn`];
    const foreign = [
      'data/notes.txt',
      'data/stem/0.blob',
      '_versions/notes.json',
      'stray.bin',
      '_blobs/x.blob',
      '_mem_wal/x/y.arrow',
      '_indices/readme',
    ];
    for (const key of young) put(key, 6);
    for (const key of old) put(key, 8);
    for (const key of foreign) put(key, 400);
    const result = await prune(attemptOn(target), workDependencies(), limits);
    expect(result.proof).toMatchObject({ orphansRemoved: old.length, orphansTooYoung: young.length });
    for (const key of [...young, ...foreign]) expect(existsSync(join(target, key)), key).toBe(true);
    for (const key of old) expect(existsSync(join(target, key)), key).toBe(false);
    expect(await (await open(folder)).countRows()).toBe(64);
    table.close();
  });

  it('a dry run tells the same numbers and changes nothing', async () => {
    const { folder, target } = await oldTable(30, day);
    const before = filesBelow(folder).map((path) => [path, statSync(path).mtimeMs]);
    const preview = await previewPrune(workDependencies(), target);
    expect(filesBelow(folder).map((path) => [path, statSync(path).mtimeMs])).toEqual(before);
    const result = await prune(attemptOn(target), workDependencies(), limits);
    expect(preview).toMatchObject({
      version: 30,
      versions: 30,
      prunableVersions: result.proof.versionsRemoved,
      files: result.proof.filesRemoved,
      bytes: result.proof.bytesRemoved,
      classes: result.proof.removed,
      retained: result.proof.versionsRetained,
    });
    for (const key of [...preview.plan.manifests, ...preview.plan.files]) {
      expect(existsSync(join(target, key)), key).toBe(false);
    }
  });
});
