import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { manifestKey } from '../../../src/lance/manifest-names.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import { prune } from '../../../src/work/prune.ts';
import { pruneLimits } from '../../../src/work/prune-batch.ts';
import { countingStore } from '../../fixtures/counting-store.ts';
import {
  createPlainTable,
  enableWal,
  flushGeneration,
  plainTable,
  readRows,
  row,
  rows,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { age, commitRewrites, contentOf, filesBelow, versionsOnDisk } from '../../fixtures/version-story.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

const day = 24 * 3_600_000;
const limits = { ...pruneLimits, restoreGraceMs: 0 };
const unsupported = expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED', disposition: 'permanent' });

/** 20 versions a day apart, of 64 rows; versions 1 to 11 are past their retention. */
async function oldTable(): Promise<{ folder: string; target: string; table: Table }> {
  const folder = temporaryFolder();
  const target = `${folder}/t.lance`;
  const table = await createPlainTable(folder, 't', rows(0, 64, 0));
  age(target, 20 * day);
  await commitRewrites(
    target,
    Array.from({ length: 18 }, (_, index) => (17 - index) * day),
  );
  await table.checkoutLatest();
  return { folder, target, table };
}

async function open(folder: string): Promise<Table> {
  return (await connect(folder)).openTable('t');
}

/** Every version that is still there can be read; the first was made without rows. */
async function assertAllReadable(folder: string, target: string): Promise<void> {
  for (const version of versionsOnDisk(target)) {
    const table = await open(folder);
    await table.checkout(version);
    expect(await table.query().toArray(), `version ${version}`).toHaveLength(version === 1 ? 0 : 64);
    table.close();
  }
}

describe('a prune that dies', () => {
  it('at any of its steps is finished by the next one, to the same end', async () => {
    const reference = await oldTable();
    await (await reference.table.tags()).create('release', 4);
    await prune(attemptOn(reference.target), workDependencies(), limits);
    const versions = versionsOnDisk(reference.target);
    const count = (target: string) => readdirSync(join(target, 'data')).length;
    const steps = new Set<string>();
    for (let died = true, step = 1; died; step += 7) {
      const { folder, target, table } = await oldTable();
      await (await table.tags()).create('release', 4);
      died = false;
      let calls = 0;
      const dying = workDependencies();
      const storageFor = (uri: string) =>
        countingStore(createFileObjectStore(uri), ({ call, key }) => {
          calls += 1;
          if (calls < step) return;
          died = true;
          steps.add(`${call} ${key.split('/')[0]}`);
          throw new Error('killed');
        }).store;
      // Small batches, so that several records are written.
      const attempt = prune(attemptOn(target), { ...dying, storageFor }, { ...limits, maxVersions: 3, group: 2 });
      if (
        await attempt.then(
          () => false,
          () => true,
        )
      ) {
        await assertAllReadable(folder, target);
        await prune(attemptOn(target), workDependencies(), limits);
      }
      expect(versionsOnDisk(target)).toEqual(versions);
      expect(count(target)).toBe(count(reference.target));
      expect(filesBelow(join(target, '_transactions'))).toHaveLength(versions.length);
      expect(existsSync(`${folder}/_lance_upkeep`)).toBe(false);
      await assertAllReadable(folder, target);
    }
    expect([...steps]).toEqual(expect.arrayContaining(['get _versions', 'delete _versions', 'delete data']));
  });

  it('between manifests and files leaves a record, and its young files are given back by the next one', async () => {
    const { folder, target } = await oldTable();
    const killed = attemptOn(target, {
      onFence: (count) => {
        if (count === 3) throw new Error('killed');
      },
    });
    await expect(prune(killed, workDependencies(), limits)).rejects.toThrow('killed');
    expect(versionsOnDisk(target)).not.toContain(5);
    const recorded = filesBelow(`${folder}/_lance_upkeep/prune`);
    expect(recorded).toHaveLength(1);
    // As if they had been written today: by age they would stay for 7 days more.
    age(join(target, 'data'), -30 * day);
    const files = readdirSync(join(target, 'data')).length;
    const result = await prune(attemptOn(target), workDependencies(), limits);
    expect(result.proof).toMatchObject({ recordsTakenOver: 1, versionsRemoved: 0, orphansRemoved: 0 });
    expect(readdirSync(join(target, 'data')).length).toBeLessThan(files);
    expect(readdirSync(join(target, 'data'))).toHaveLength(versionsOnDisk(target).length);
    expect(existsSync(`${folder}/_lance_upkeep`)).toBe(false);
  });

  it('with little time ends in part and asks for the rest', async () => {
    const { target } = await oldTable();
    let left = 4;
    const attempt = { ...attemptOn(target), remainingMs: () => (left -= 1) };
    const small = { ...limits, maxVersions: 2 };
    const first = await prune(attempt, workDependencies(), small);
    expect(first).toMatchObject({ rewroteNothing: false, followUp: { kind: 'Prune' } });
    expect(first.partial).toContain('left for the next pass');
    expect(versionsOnDisk(target).length).toBeLessThan(20);
    const second = await prune(attemptOn(target), workDependencies(), small);
    expect(second.partial).toBeUndefined();
    expect(readdirSync(join(target, 'data'))).toHaveLength(versionsOnDisk(target).length);
    const none = { ...attemptOn(target), remainingMs: () => 0 };
    age(target, 10 * day);
    await expect(prune(none, workDependencies(), small)).rejects.toEqual(expect.objectContaining({ code: 'DEADLINE' }));
  });
});

describe('others at work beside a prune', () => {
  it('a restore of an old version that comes before its manifest goes keeps its files', async () => {
    const { folder, target } = await oldTable();
    const old = await open(folder);
    await old.checkout(5);
    const attempt = attemptOn(target, {
      onFence: async (count) => {
        // After the plan was recorded, before the first manifest goes.
        if (count === 2) await old.restore();
      },
    });
    await prune(attempt, workDependencies(), limits);
    expect(versionsOnDisk(target)).not.toContain(5);
    expect(versionsOnDisk(target).at(-1)).toBe(21);
    await assertAllReadable(folder, target);
    await (await open(folder)).add(plainTable([row(99, 9)]) as never);
    await prune(attemptOn(target), workDependencies(), limits);
    expect((await readRows(target, { lsm: false })).size).toBe(65);
  });

  it('a restore that comes after its manifest went fails by itself and leaves the table whole', async () => {
    const { folder, target } = await oldTable();
    const old = await open(folder);
    await old.checkout(5);
    const attempt = attemptOn(target, {
      onFence: async (count) => {
        if (count === 3) await expect(old.restore()).rejects.toThrow('Not found');
      },
    });
    await prune(attempt, workDependencies(), limits);
    expect(attempt.fences.count).toBeGreaterThanOrEqual(3);
    expect(versionsOnDisk(target).at(-1)).toBe(20);
    await assertAllReadable(folder, target);
  });

  it('a tag that is set while the prune runs keeps its version and files', async () => {
    const { folder, target, table } = await oldTable();
    const attempt = attemptOn(target, {
      onFence: async (count) => {
        if (count === 2) await (await table.tags()).create('late', 7);
      },
    });
    await prune(attempt, workDependencies(), limits);
    expect(versionsOnDisk(target)[0]).toBe(7);
    await assertAllReadable(folder, target);
  });

  it('a commit whose files were written before the prune and whose manifest comes after the plan is whole', async () => {
    const { folder, target, table } = await oldTable();
    const stash = `${folder}/stash.manifest`;
    await table.add(plainTable(rows(64, 80, 1)) as never);
    const head = join(target, manifestKey(21, 'V2'));
    renameSync(head, stash);
    writeFileSync(join(target, '_versions/latest_version_hint.json'), '{"version":20}');
    const attempt = attemptOn(target, {
      onFence: (count) => {
        if (count === 2) renameSync(stash, head);
      },
    });
    await prune(attempt, workDependencies(), limits);
    expect((await readRows(target, { lsm: false })).size).toBe(80);
  });

  it('a pending generation, a reader of it with an old snapshot, and what a later merge collects stay right', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    const table = await createPlainTable(folder, 't', rows(0, 64, 0));
    await enableWal(table);
    await flushGeneration(table, rows(0, 5, 1));
    await mergeWal(attemptOn(target), workDependencies());
    age(target, 20 * day);
    const before = versionsOnDisk(target).at(-1) ?? 0;
    await flushGeneration(await open(folder), rows(0, 5, 2));
    const reader = await open(folder);
    const seen = async (handle: Table) =>
      Number(
        (
          await handle
            .query()
            .where(`id = '${row(3, 0).id}'`)
            .toArray()
        )[0]?.n,
      );
    expect(await seen(reader)).toBe(2);
    const walBefore = filesBelow(join(target, '_mem_wal'));
    const writer = await open(folder);
    for (let n = 0; n < 12; n += 1) await writer.add(plainTable([row(100 + n, n)]) as never);
    const tight = workDependencies({ pruneKeepVersions: 1 });
    await prune(attemptOn(target), tight, limits);
    // The reader's version was the newest when the retention began.
    expect(versionsOnDisk(target)[0]).toBe(before);
    expect(filesBelow(join(target, '_mem_wal'))).toEqual(walBefore);
    expect(await seen(reader)).toBe(2);
    expect(await seen(await open(folder))).toBe(2);
    await mergeWal(attemptOn(target), tight);
    age(target, 9 * day);
    await prune(attemptOn(target), tight, limits);
    expect(await seen(await open(folder))).toBe(2);
    expect((await readRows(target, { lsm: false })).get(row(3, 0).id)?.n).toBe(2n);
  });
});

describe('a table that cannot be pruned', () => {
  it.each<[string, (folder: string, target: string) => void | Promise<void>]>([
    [
      'a branch',
      (_, target) => {
        mkdirSync(join(target, '_refs/branches'), { recursive: true });
        writeFileSync(join(target, '_refs/branches/side.json'), '{}');
      },
    ],
    [
      'a tag that cannot be read',
      async (folder, target) => {
        await (await (await open(folder)).tags()).create('one', 3);
        writeFileSync(join(target, '_refs/tags/one.json'), '{"ver');
      },
    ],
  ])('with %s is refused before anything is deleted', async (_, spoil) => {
    const { folder, target } = await oldTable();
    await spoil(folder, target);
    const before = contentOf(target);
    await expect(prune(attemptOn(target), workDependencies(), limits)).rejects.toEqual(unsupported);
    expect(contentOf(target)).toEqual(before);
  });

  it('is refused as a whole when one of its manifests is damaged, however old', async () => {
    const { target } = await oldTable();
    const path = join(target, manifestKey(3, 'V2'));
    writeFileSync(path, Buffer.alloc(statSync(path).size));
    const before = contentOf(target);
    const damaged = expect.objectContaining({ code: 'MANIFEST_UNREADABLE', disposition: 'permanent' });
    await expect(prune(attemptOn(target), workDependencies(), limits)).rejects.toEqual(damaged);
    expect(contentOf(target)).toEqual(before);
  });

  it('is refused when it is a shallow clone, whose files lie elsewhere', async () => {
    const { folder } = await oldTable();
    const database = await connect(folder);
    await database.cloneTable('copy', `${folder}/t.lance`, { isShallow: true });
    const target = `${folder}/copy.lance`;
    const before = contentOf(target);
    await expect(prune(attemptOn(target), workDependencies(), limits)).rejects.toEqual(unsupported);
    expect(contentOf(target)).toEqual(before);
  });
});
