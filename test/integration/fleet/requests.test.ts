import { rmSync } from 'node:fs';
import { connect } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import type { TableFacts } from '../../../src/fleet/facts.ts';
import { observe } from '../../../src/fleet/observe.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { countingStore } from '../../fixtures/counting-store.ts';
import { createPlainTable, enableWal, flushGeneration, plainTable, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const settings = loadSettings({});
const minute = 60_000;
/** The middle of an hour, a day and more after anything a test writes: tables are old, and no test crosses an hour. */
const now = (Math.floor(Date.now() / 3_600_000) + 48) * 3_600_000 + 30 * minute;

async function counted(target: string, at: number, previous?: TableFacts) {
  const { store, requests } = countingStore(createFileObjectStore(target));
  const facts = await observe(store, target, settings, at, previous);
  return { facts, requests };
}

async function idleTable() {
  const database = temporaryFolder();
  const table = await createPlainTable(database, 't', rows(0, 50, 0));
  return { table, database, target: `${database}/t.lance` };
}

describe('what an observation costs', () => {
  it('S15: is two small reads for an idle store with a remembered version, and no listing', async () => {
    const { target } = await idleTable();
    const first = await counted(target, now);
    const second = await counted(target, now + minute, first.facts);
    expect(second.requests.map((request) => request.call)).toEqual(['get', 'get']);
    expect(second.facts).toEqual({ ...first.facts, observedAt: now + minute });
  });

  it('is one listing and one read for a table seen for the first time, and a listing of its versions', async () => {
    const { target } = await idleTable();
    const { requests } = await counted(target, now);
    expect(requests.map((request) => request.call)).toEqual(['list', 'get', 'list']);
  });

  it('counts versions at most hourly, and reads at most 16 old manifests for what they hold', async () => {
    const { table, target } = await idleTable();
    const later = now + 8 * 24 * 60 * minute;
    for (let n = 0; n < 40; n += 1) await table.add(plainTable(rows(n, n + 1, n)) as never);
    const first = await counted(target, later);
    const ofVersions = ({ requests }: typeof first) =>
      requests.filter(({ call, key }) => call === 'get' && key.startsWith('_versions/')).length;
    expect(first.facts.versions).toMatchObject({ count: 42, prunable: 39 });
    expect(ofVersions(first)).toBe(1 + 16);
    await table.add(plainTable(rows(1, 2, 1)) as never);
    const soon = await counted(target, later + minute, first.facts);
    expect(soon.requests.map((request) => request.call)).toEqual(['get', 'get']);
    expect(soon.facts.versions).toEqual(first.facts.versions);
    const hourLater = await counted(target, later + 60 * minute, soon.facts);
    expect(hourLater.facts.versions).toMatchObject({ count: 43, measuredAt: later + 60 * minute });
    expect(ofVersions(hourLater)).toBeLessThanOrEqual(1 + 16);
  });

  it('is the same once an hour, when the listing decides', async () => {
    const { target } = await idleTable();
    const first = await counted(target, now);
    const later = await counted(target, now + 60 * minute, first.facts);
    expect(later.requests.map((request) => request.call)).toEqual(['list', 'get']);
  });

  it('follows the versions committed since, from the remembered one on', async () => {
    const { table, target } = await idleTable();
    const first = await counted(target, now);
    await table.add(plainTable(rows(50, 60, 1)) as never);
    await table.add(plainTable(rows(60, 70, 1)) as never);
    const second = await counted(target, now + minute, first.facts);
    expect(second.facts).toMatchObject({ version: await table.version(), rows: 70 });
    expect(second.requests.map((request) => request.call)).toEqual(['get', 'get', 'get']);
  });

  it('sees a table that was dropped and made again with fewer versions', async () => {
    const { table, database, target } = await idleTable();
    await table.add(plainTable(rows(50, 60, 1)) as never);
    const first = await counted(target, now);
    rmSync(target, { recursive: true });
    await (await connect(database)).createTable('t', [{ id: 'only', n: 1 }]);
    const second = await counted(target, now + minute, first.facts);
    expect(first.facts.version).toBeGreaterThan(second.facts.version);
    expect(second.facts.rows).toBe(1);
  });

  it('grows with shards, not with generations, where the writer counted rows and bytes', async () => {
    const { table, target } = await idleTable();
    await enableWal(table);
    await flushGeneration(table, rows(0, 10, 1));
    const few = await counted(target, now);
    for (let n = 2; n <= 6; n += 1) await flushGeneration(table, rows(0, 10, n));
    const many = await counted(target, now + minute, few.facts);
    const ofWal = ({ requests }: typeof few) => requests.filter((request) => request.key.startsWith('_mem_wal/'));
    expect(many.facts.wal?.shards[0]?.pendingGenerations).toBe(6);
    expect(ofWal(many).length).toBeLessThanOrEqual(ofWal(few).length);
    expect(ofWal(many).length).toBeLessThanOrEqual(6);
  });
});
