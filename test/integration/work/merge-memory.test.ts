import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import {
  createPlainTable,
  enableWal,
  expectedRows,
  flushGeneration,
  headOf,
  makeTombstones,
  readRows,
  rows,
  shardOf,
  sorted,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { createWideTable } from '../../fixtures/wide-table.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

const MIB = 1024 * 1024;

interface Merged {
  readonly peakBytes: number;
  readonly fences: number;
  readonly code: string;
  readonly pool: number;
}

/** Memory and pool belong to a process, so each merge here has its own. */
function mergeInProcess(target: string, environment: Record<string, string> = {}): Merged {
  const script = fileURLToPath(new URL('../../processes/merge-all.ts', import.meta.url));
  const { LANCE_MEM_POOL_SIZE: _, ...inherited } = process.env;
  const env = { ...inherited, LANCEDB_LOG: 'off', ...environment };
  return JSON.parse(execFileSync(process.execPath, [script, target], { env, encoding: 'utf8' })) as Merged;
}

async function digests(target: string, lsm: boolean): Promise<Map<string, string>> {
  const content = await readRows(target, { lsm });
  return new Map(
    [...content]
      .map(([id, row]): [string, string] => [
        id,
        createHash('sha256')
          .update(row.payload as Uint8Array)
          .digest('hex'),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

describe('the memory of a merge', () => {
  it('160 rows of 1 MiB in 8 generations merge at the default settings, in far less memory than three times their bytes', async () => {
    const { target } = await createWideTable(temporaryFolder(), 8, 20, MIB);
    const before = await digests(target, true);
    const { code, peakBytes } = mergeInProcess(target);
    expect(code).toBe('');
    expect(peakBytes).toBeLessThan(600 * MIB);
    expect(await digests(target, false)).toEqual(before);
    expect(await digests(target, true)).toEqual(before);
  });

  it('a slice that exhausts the memory pool goes in halves, and the slices after it are no larger', async () => {
    const { target } = await createWideTable(temporaryFolder(), 1, 32, MIB);
    const before = await digests(target, true);
    const pool = { LANCE_MEM_POOL_SIZE: String(6 * MIB), MERGE_SLICE_BYTES: String(16 * MIB) };
    const { code, fences } = mergeInProcess(target, pool);
    expect(code).toBe('');
    expect(await digests(target, false)).toEqual(before);
    // Index, watermark, two attempts that did not fit, commits of 3 rows; were the size forgotten, others would fail too.
    expect(fences).toBeLessThanOrEqual(2 + 2 + 12);
  });

  it('a single row that exhausts the memory pool fails by code, and the watermark stays', async () => {
    const { target } = await createWideTable(temporaryFolder(), 1, 2, 8 * MIB);
    const { code } = mergeInProcess(target, { LANCE_MEM_POOL_SIZE: String(4 * MIB) });
    expect(code).toBe('MEMORY_EXHAUSTED');
    expect((await headOf(target)).memWal?.compacted.size).toBe(0);
  });

  it('the memory pool follows MERGE_SLICE_BYTES, and never what the operator set', async () => {
    const { target } = await createWideTable(temporaryFolder(), 1, 1, 100);
    expect(mergeInProcess(target, { MERGE_SLICE_BYTES: String(64 * MIB) }).pool).toBe(512 * MIB);
    expect(mergeInProcess(target, { LANCE_MEM_POOL_SIZE: '123456789' }).pool).toBe(123_456_789);
  });
});

describe('a merge in many slices', () => {
  it('that dies between any two of its commits leaves the same rows for the next one, each once', async () => {
    const layers = [rows(90, 110, 1), rows(95, 120, 2), rows(118, 121, 3)];
    const expected = expectedRows(rows(0, 100, 0), ...layers);
    for (const id of ['key-000119']) expected.delete(id);
    const dependencies = workDependencies({ generationRetentionMs: 0, mergeSliceBytes: 600 });
    let died = true;
    for (let diesAt = 1; died; diesAt += 3) {
      const folder = temporaryFolder();
      const target = `${folder}/events.lance`;
      const table = await createPlainTable(folder, 'events', rows(0, 100, 0), 2);
      await enableWal(table);
      for (const layer of layers) await flushGeneration(table, layer);
      const { shardId, generations } = await shardOf(target);
      await makeTombstones(target, shardId, generations[2]?.path as string, ['key-000119']);
      const attempt = attemptOn(target, {
        onFence: (count) => {
          if (count === diesAt) throw new Error('the process died here');
        },
      });
      const ended = await mergeWal(attempt, dependencies).catch((error: Error) => error.message);
      died = String(ended).includes('the process died here');
      if (!died) expect(ended).toMatchObject({ metrics: {} });
      if (!died) expect(attempt.fences.count).toBeGreaterThan(6);
      expect(sorted(await readRows(target, { lsm: true }))).toEqual(sorted(expected));
      await mergeWal(attemptOn(target), dependencies);
      expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expected));
      expect(sorted(await readRows(target, { lsm: true }))).toEqual(sorted(expected));
    }
  });

  it('stops before its next commit when another merger has moved the watermark', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/events.lance`;
    const table = await createPlainTable(folder, 'events', rows(0, 100, 0));
    await enableWal(table);
    await flushGeneration(table, rows(90, 130, 1));
    const attempt = attemptOn(target, {
      onFence: async (count) => {
        if (count === 4) await mergeWal(attemptOn(target), workDependencies());
      },
    });
    const merge = mergeWal(attempt, workDependencies({ mergeSliceBytes: 600 }));
    await expect(merge).rejects.toMatchObject({ code: 'WATERMARK_MOVED' });
    expect(attempt.fences.count).toBe(4);
    const expected = expectedRows(rows(0, 100, 0), rows(90, 130, 1));
    expect(sorted(await readRows(target, { lsm: false }))).toEqual(sorted(expected));
  });
});
