import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { holdIn } from '../../../src/lance/hold.ts';
import { readManifestAt } from '../../../src/lance/newest.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import type { RunReport } from '../../../src/upkeep/reports.ts';
import { commandJson, type Running, start, startCommand } from '../../fixtures/command.ts';
import { contentOf, expectedAnswers, indexesBehind, readContent } from '../../fixtures/expected-answers.ts';
import { answers, createSearchTable, openAnew } from '../../fixtures/search-table.ts';
import { ROWS_AT_FIRST, readWritten, rowsOf } from '../../fixtures/searched-rows.ts';
import { headOf } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const FRAGMENTS = 12;
const RUN_MS = 15_000;
const OPTIMIZE_EVERY_MS = 1_500;

async function printed<T>(process: Running): Promise<T> {
  const { stdout, stderr } = await process.ended;
  expect(stdout, stderr).not.toBe('');
  return JSON.parse(stdout) as T;
}

/** Compactions in the table's history that began with a hold in place. */
async function rewritesBehindHolds(target: string): Promise<number> {
  const store = createFileObjectStore(target);
  let held = false;
  let rewrites = 0;
  for (let version = 1; version <= (await headOf(target)).version; version += 1) {
    const manifest = await readManifestAt(store, version);
    if (manifest === undefined) continue;
    if (held && manifest.transaction?.operation === 'Rewrite') rewrites += 1;
    held = holdIn(manifest) !== undefined;
  }
  return rewrites;
}

it.each(['base', 'lsm'] as const)(
  'while a writer upserts, deletes and appends and a stranger runs optimize(), nobody misses a row in any search (%s)',
  async (way) => {
    const folder = temporaryFolder();
    const target = `${folder}/db/t.lance`;
    const ledger = `${folder}/ledger.sqlite`;
    const table = await createSearchTable(`${folder}/db`, 't', {
      fragments: FRAGMENTS,
      rowsEach: ROWS_AT_FIRST / FRAGMENTS,
      vectorIndex: 'IVF_FLAT',
    });
    if (way === 'lsm') {
      await table.setUnenforcedPrimaryKey('id');
      const maintainedIndexes = ['id_idx', 'text_idx', 'vector_idx'];
      await table.setLsmWriteSpec({ specType: 'unsharded', maintainedIndexes });
    }
    table.close();
    const { dataBytes } = await headOf(target);
    const eager = {
      COMPACTION_INTERVAL: '1',
      MERGE_WAL_INTERVAL: '1',
      MERGE_WAL_TAIL_INTERVAL: '2',
      MIN_FRAGMENTS: '3',
      INDEX_MAX_ROWS_OUTSIDE: '1',
      GENERATION_RETENTION: '5',
      COMPACT_MAX_BYTES: String(Math.ceil((dataBytes * 3.5) / 9)),
      TARGET_FRAGMENT_BYTES: String(dataBytes * 10),
    };

    const watch = startCommand(['run', `${folder}/db`, '--watch', '--json', '--ledger', ledger], eager);
    const writer = start('test/processes/search-writer.ts', [target, String(RUN_MS), `${folder}/written.json`]);
    const optimizer = start('test/processes/optimizer.ts', [target, String(OPTIMIZE_EVERY_MS), `${folder}/stop`]);
    const reader = start('test/processes/search-reader.ts', [target, way, `${folder}/written.json`, `${folder}/stop`]);
    const written = await printed<{ steps: number; conflicts: number; error: string | null }>(writer);
    writeFileSync(`${folder}/stop`, '');
    const read = await printed<{ reads: number; wrong: string[] }>(reader);
    const optimized = await printed<{ optimized: number; conflicts: number; error: string | null }>(optimizer);
    watch.child.kill('SIGINT');
    const watched = await watch.ended;
    const { tasks } = JSON.parse(watched.stdout) as RunReport;

    const behindHolds = await rewritesBehindHolds(target);
    const extended = tasks.filter(({ kind, state }) => kind === 'OptimizeIndices' && state === 'done').length;
    process.stderr.write(`${way}: ${JSON.stringify({ written, read, optimized, behindHolds, extended })}\n`);
    expect(written.error).toBeNull();
    expect(optimized.error).toBeNull();
    expect(read.wrong).toEqual([]);
    expect(tasks.filter(({ state }) => state === 'failed')).toEqual([]);
    expect(watched.code, watched.stderr).toBe(130);
    for (const count of [written.steps, read.reads, optimized.optimized, behindHolds, extended]) {
      expect(count).toBeGreaterThan(0);
    }

    const quiet = await commandJson<RunReport>(['run', `${folder}/db`, '--once', '--ledger', ledger], eager);
    expect([quiet.code, quiet.report.tasks.filter(({ state }) => state !== 'done')]).toEqual([0, []]);
    const after = await headOf(target);
    const rows = rowsOf(readWritten(`${folder}/written.json`).settled);
    expect(holdIn(after)).toBeUndefined();
    expect(await indexesBehind(target)).toEqual([]);
    for (const lsm of way === 'lsm' ? [true, false] : [false]) {
      expect(await readContent(target, { lsm })).toEqual(contentOf(rows));
    }
    expect(await answers(await openAnew(target), { base: true })).toEqual(expectedAnswers(rows));
  },
);
