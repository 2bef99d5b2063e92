import { readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { readNewestManifest } from '../../../src/lance/newest.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { startCommand } from '../../fixtures/command.ts';
import { createPlainTable, enableWal, flushGeneration, plainTable, row, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** Every file below a folder with its size and content time: equal before and after means nothing was written. */
function contentOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => `${file} ${statSync(file).size} ${statSync(file).mtimeMs}`)
    .sort();
}

interface Store {
  readonly folder: string;
  readonly db: string;
  readonly target: string;
}

async function store(): Promise<Store & { table: Awaited<ReturnType<typeof createPlainTable>> }> {
  const folder = temporaryFolder();
  const db = `${folder}/db`;
  const table = await createPlainTable(db, 'events', rows(0, 20, 0), 2);
  return { folder, db, target: `${db}/events.lance`, table };
}

/** Runs a command that has to be refused and checks everything that every refusal owes its reader. */
async function refused(
  { folder, target }: Store,
  words: readonly string[],
  expected: { readonly code: string; readonly exit: number },
  environment: Record<string, string> = {},
): Promise<string> {
  const before = contentOf(target);
  const { code, stderr, stdout } = await startCommand([...words, '--ledger', `${folder}/ledger.sqlite`], environment)
    .ended;
  expect({ exit: code, stderr, stdout }).toMatchObject({ exit: expected.exit });
  const screen = `${stdout}${stderr}`;
  expect(screen).toContain(expected.code);
  expect(screen.split('\n').length).toBeLessThanOrEqual(25);
  expect(screen).not.toMatch(/\n\s+at /);
  expect(contentOf(target)).toEqual(before);
  return screen;
}

async function truncateManifest(target: string): Promise<string> {
  const manifest = await readNewestManifest(createFileObjectStore(target));
  const file = `${target}/${manifest?.key}`;
  writeFileSync(file, readFileSync(file).subarray(0, 100));
  return manifest?.key ?? '';
}

describe('what is asked wrongly', () => {
  it('an unknown kind of task', async () => {
    const one = await store();
    await refused(one, ['send', 'Vacuum', one.target], { code: 'USAGE', exit: 2 });
  });

  it('a target outside the roots, also through a link', async () => {
    const one = await store();
    const other = await store();
    symlinkSync(other.target, `${one.db}/linked.lance`);
    const roots = { UPKEEP_ROOTS: one.db };
    await refused(other, ['send', 'Compact', other.target], { code: 'TARGET_OUTSIDE_ROOTS', exit: 2 }, roots);
    await refused(
      other,
      ['send', 'Compact', `${one.db}/linked.lance`],
      { code: 'TARGET_OUTSIDE_ROOTS', exit: 2 },
      roots,
    );
  });

  it('a path with dots', async () => {
    const one = await store();
    await refused(one, ['inspect', `${one.db}/../db/events.lance`], { code: 'TARGET_INVALID', exit: 2 });
  });

  it('a table that does not exist', async () => {
    const one = await store();
    await refused(one, ['inspect', `${one.db}/nowhere.lance`], { code: 'TABLE_NOT_FOUND', exit: 5 });
    await refused(one, ['send', 'MergeWal', `${one.db}/nowhere.lance`], { code: 'TABLE_NOT_FOUND', exit: 5 });
  });

  it('a setting with a typo, and one with a value that is no number', async () => {
    const one = await store();
    const typo = await refused(
      one,
      ['run', one.db],
      { code: 'SETTING_UNKNOWN', exit: 2 },
      { MERGE_MAX_GENERATION: '8' },
    );
    expect(typo).toContain('MERGE_MAX_GENERATIONS');
    await refused(one, ['run', one.db], { code: 'SETTING_INVALID', exit: 2 }, { MIN_FRAGMENTS: 'many' });
  });

  it('a cursor that is none', async () => {
    const one = await store();
    await refused(one, ['history', '--after', 'tomorrow'], { code: 'CURSOR_INVALID', exit: 2 });
  });

  it('a root on a file system that takes nothing', async () => {
    const one = await store();
    await refused(one, ['run', '/proc/sys/fs'], { code: 'STORE_IO', exit: 1 });
  });

  it('a ledger file that is damaged', async () => {
    const one = await store();
    const file = `${one.folder}/ledger.sqlite`;
    await startCommand(['run', one.db, '--ledger', file]).ended;
    const bytes = readFileSync(file);
    // All but the first page, which still says that this is a ledger.
    writeFileSync(file, bytes.fill(0x5a, 4096));
    await refused(one, ['status'], { code: 'LEDGER_DAMAGED', exit: 1 });
    await refused(one, ['run', one.db], { code: 'LEDGER_DAMAGED', exit: 1 });
  });

  it('a root that another ledger looks after', async () => {
    const one = await store();
    await startCommand(['run', one.db, '--ledger', `${one.folder}/first.sqlite`]).ended;
    await refused(one, ['run', one.db], { code: 'ROOT_OWNED', exit: 1 });
  });
});

describe('what is wrong with a table', () => {
  const send = (one: Store, kind = 'MergeWal') => ['send', kind, one.target, '--wait'];

  it('a table without a key column', async () => {
    const folder = temporaryFolder();
    const table = await (await connect(`${folder}/db`)).createTable('events', [{ name: 'a', n: 1 }]);
    table.close();
    const one = { folder, db: `${folder}/db`, target: `${folder}/db/events.lance` };
    await refused(one, send(one), { code: 'KEY_COLUMN_MISSING', exit: 1 });
    await refused(one, send(one, 'IndexId'), { code: 'KEY_COLUMN_MISSING', exit: 1 });
  });

  it('a key that stands twice in the base table', async () => {
    const one = await store();
    await enableWal(one.table);
    await flushGeneration(one.table, [row(1, 1)]);
    await one.table.add(plainTable([row(1, 2)]) as never);
    await refused(one, send(one), { code: 'DUPLICATE_KEYS', exit: 1 });
  });

  it('a generation directory that is gone', async () => {
    const one = await store();
    await enableWal(one.table);
    await flushGeneration(one.table, [row(1, 1)]);
    const [shard] = readdirSync(`${one.target}/_mem_wal`);
    const directory = readdirSync(`${one.target}/_mem_wal/${shard}`).find((name) => name.includes('_gen_'));
    rmSync(`${one.target}/_mem_wal/${shard}/${directory}`, { recursive: true });
    await refused(one, send(one), { code: 'GENERATION_MISSING', exit: 1 });
  });

  it('a truncated manifest, whatever is asked of it', async () => {
    const one = await store();
    one.table.close();
    const key = await truncateManifest(one.target);
    for (const words of [
      send(one),
      send(one, 'Compact'),
      ['inspect', one.target],
      ['explain', one.target],
      ['run', one.db],
    ]) {
      const screen = await refused(one, words, { code: 'MANIFEST_UNREADABLE', exit: 1 });
      expect(screen).toContain(key);
    }
  });

  it('a table with a branch', async () => {
    const one = await store();
    await (await one.table.branches()).create('experiment');
    await refused(one, send(one, 'Compact'), { code: 'MANIFEST_UNSUPPORTED', exit: 1 });
    await refused(one, send(one, 'IndexId'), { code: 'MANIFEST_UNSUPPORTED', exit: 1 });
  });

  it('a reader feature that nobody knows yet', async () => {
    const one = await store();
    one.table.close();
    const manifest = await readNewestManifest(createFileObjectStore(one.target));
    const file = `${one.target}/${manifest?.key}`;
    writeFileSync(file, withReaderFlag(readFileSync(file)));
    await refused(one, send(one, 'Compact'), { code: 'MANIFEST_UNSUPPORTED', exit: 1 });
    await refused(one, ['inspect', one.target], { code: 'MANIFEST_UNSUPPORTED', exit: 1 });
  });
});

/** Appends field 9 (reader feature flags) with an unknown bit to the manifest message at the end of the file. */
function withReaderFlag(bytes: Buffer): Buffer {
  const position = Number(bytes.readBigUInt64LE(bytes.length - 16));
  const message = bytes.subarray(position + 4, bytes.length - 16);
  // Tag 9 varint, then 2^20 as a varint.
  const grown = Buffer.concat([message, Buffer.from([0x48, 0x80, 0x80, 0x40])]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(grown.length);
  return Buffer.concat([bytes.subarray(0, position), length, grown, bytes.subarray(bytes.length - 16)]);
}
