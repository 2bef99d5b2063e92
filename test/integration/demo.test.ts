import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/config.ts';
import { buildDemoFleet, checkDemoFleet, type DemoFleet } from '../../src/demo/fleet.ts';
import { DEMO_MARKER } from '../../src/demo/marker.ts';
import { holdIn } from '../../src/lance/hold.ts';
import { indexCoverage } from '../../src/lance/index-coverage.ts';
import type { TableManifest } from '../../src/lance/manifest.ts';
import { createFileObjectStore } from '../../src/storage/file-object-store.ts';
import { previewPrune } from '../../src/upkeep/preview-prune.ts';
import { headOf } from '../fixtures/tables.ts';

async function generationsOf(target: string): Promise<number[]> {
  const shards = await readdir(join(target, '_mem_wal'));
  const counts: number[] = [];
  for (const shard of shards) {
    const entries = await readdir(join(target, '_mem_wal', shard));
    counts.push(entries.filter((entry) => /^[0-9a-f]{8}_gen_\d+$/.test(entry)).length);
  }
  return counts;
}

async function fragmentsOf(directory: string, name: string): Promise<number> {
  const connection = await connect(directory);
  const table = await connection.openTable(name);
  const stats = await table.stats();
  return stats.fragmentStats.numFragments;
}

describe('the demo fleet', () => {
  let parent: string;
  let fleet: DemoFleet;

  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'upkeep-demo-'));
    fleet = await buildDemoFleet(join(parent, 'fleet'));
  });

  afterAll(async () => {
    await rm(parent, { recursive: true, force: true });
  });

  it('reads as expected through an ordinary query before any maintenance', async () => {
    const checks = await checkDemoFleet(fleet);

    expect(checks.map((check) => [check.name, check.everything.exact])).toEqual([
      ['fragmented', true],
      ['sessions', true],
      ['accounts', true],
      ['orders', true],
      ['images', true],
      ['articles', true],
      ['library', true],
      ['abandoned', true],
      ['archive', true],
      ['healthy', true],
    ]);
  });

  it('leaves the newest rows of the two MemWAL tables out of the base table', async () => {
    const checks = await checkDemoFleet(fleet);

    const behind = checks.filter((check) => !check.baseOnly.exact).map((check) => check.name);
    expect(behind).toEqual(['sessions', 'accounts']);
  });

  it('holds 12 generations in one shard and 5 in each of two', async () => {
    const [sessions, accounts] = ['sessions', 'accounts'].map((name) => join(fleet.directory, `${name}.lance`));

    expect(await generationsOf(sessions ?? '')).toEqual([12]);
    expect(await generationsOf(accounts ?? '')).toEqual([5, 5]);
  });

  it('gives each table its ailment and leaves one healthy', async () => {
    expect(await fragmentsOf(fleet.directory, 'fragmented')).toBe(40);
    expect(await fragmentsOf(fleet.directory, 'images')).toBe(60);
    expect(await fragmentsOf(fleet.directory, 'healthy')).toBe(1);

    const connection = await connect(fleet.directory);
    const kinds: Record<string, string[]> = {};
    for (const name of ['fragmented', 'orders', 'healthy']) {
      const indexes = await (await connection.openTable(name)).listIndices();
      kinds[name] = indexes.map((index) => `${index.name}:${index.indexType}`);
    }
    expect(kinds).toEqual({ fragmented: [], orders: ['id_idx:Bitmap'], healthy: ['id_idx:BTree'] });
  });

  it('leaves a third of the articles to searches that ask more than the index, and a hold on every fragment of one table', async () => {
    const checks = await checkDemoFleet(fleet);

    const searches = checks.flatMap(({ name, searches }) => (searches === null ? [] : [[name, searches]]));
    expect(searches).toEqual([
      ['articles', { asked: 8, right: 4 }],
      ['library', { asked: 8, right: 8 }],
      ['abandoned', { asked: 8, right: 8 }],
    ]);
    const [articles, abandoned] = await Promise.all(
      ['articles', 'abandoned'].map((name) => headOf(join(fleet.directory, `${name}.lance`))),
    );
    expect(indexCoverage(articles as TableManifest).map(({ rowsOutside }) => rowsOutside)).toEqual([300, 300, 300]);
    expect(holdIn(abandoned as TableManifest)?.fragments.size).toBe(20);
  });

  it('makes an archive of 121 versions, 111 of which may go by the default settings, around the one that is tagged', async () => {
    const target = join(fleet.directory, 'archive.lance');

    const preview = await previewPrune(
      { storageFor: createFileObjectStore, settings: loadSettings({}), now: Date.now },
      target,
    );

    expect(preview).toMatchObject({ versions: 121, prunableVersions: 111, retained: { head: 1, tagged: 1 } });
    const tagged = (await checkDemoFleet(fleet)).flatMap((check) => (check.tagged === null ? [] : [check.tagged]));
    expect(tagged).toEqual([{ tag: 'first-quarter', rows: 60, exact: true }]);
  });

  it('notices a search that is answered wrongly, and a tag that was moved to another version', async () => {
    const other = await buildDemoFleet(join(parent, 'astray'));
    const library = await (await connect(other.directory)).openTable('library');
    await library.update({ where: "id = 'k-000000'", valuesSql: { vector: 'NULL' } });
    const archive = await (await connect(other.directory)).openTable('archive');
    await (await archive.tags()).update('first-quarter', 31);

    const checks = await checkDemoFleet(other);

    const check = checks.find(({ name }) => name === 'library');

    expect(check?.searches?.right).toBeLessThan(8);
    expect(check?.everything).toEqual({ rows: 1_440, exact: false });
    const tags = checks
      .filter(({ tagged }) => tagged !== null)
      .map(({ everything, tagged }) => [everything.exact, tagged]);
    expect(tags).toEqual([[true, { tag: 'first-quarter', rows: 60, exact: false }]]);
  });

  it('notices a row that was lost, doubled or set back', async () => {
    const other = await buildDemoFleet(join(parent, 'damaged'));
    const connection = await connect(other.directory);
    await (await connection.openTable('fragmented')).delete("id = 'k-000007'");
    const orders = await connection.openTable('orders');
    const [doubled] = await orders.query().where('id = 5').toArray();
    await orders.add([{ ...doubled }]);
    await (await connection.openTable('healthy')).update({
      where: "id = 'k-000009'",
      valuesSql: { value: 'value - 1' },
    });

    const checks = await checkDemoFleet(other);

    const wrong = checks.filter((check) => !check.everything.exact).map((check) => [check.name, check.everything.rows]);
    expect(wrong).toEqual([
      ['fragmented', 3_999],
      ['orders', 3_001],
      ['healthy', 2_000],
    ]);
  });

  it('is remade with the same rows in a folder that carries its marker, and leaves other files there alone', async () => {
    const directory = join(parent, 'again');
    const first = await buildDemoFleet(directory);
    await writeFile(join(directory, 'mine.txt'), 'keep');
    const second = await buildDemoFleet(directory);

    expect(second).toEqual(first);
    expect(await readFile(join(directory, 'mine.txt'), 'utf8')).toBe('keep');
    expect((await checkDemoFleet(second)).every((check) => check.everything.exact)).toBe(true);
  });

  it('refuses a folder with content that no demo made, and writes nothing there', async () => {
    const directory = join(parent, 'taken');
    await mkdir(directory);
    await writeFile(join(directory, 'thesis.txt'), 'years of work');

    await expect(buildDemoFleet(directory)).rejects.toMatchObject({ code: 'DEMO_DIRECTORY_NOT_EMPTY' });
    expect(await readdir(directory)).toEqual(['thesis.txt']);
  });

  it('records what each table must read as in its marker', async () => {
    const marker = JSON.parse(await readFile(join(fleet.directory, DEMO_MARKER), 'utf8'));

    expect(marker.complete).toBe(true);
    expect(marker.tables).toEqual(fleet.tables.map(({ name, expected }) => ({ name, ...expected })));
  });
});
