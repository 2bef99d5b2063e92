import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Index } from '@lancedb/lancedb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { explain, explainStored } from '../../../src/fleet/explain.ts';
import { createSweep } from '../../../src/fleet/sweep.ts';
import { fromStored } from '../../../src/fleet/sweep-ledger.ts';
import { createSqliteLedger } from '../../../src/local/sqlite-ledger.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import type { Claim } from '../../../src/tasks/api.ts';
import { createLifecycle } from '../../../src/tasks/lifecycle.ts';
import type { WorkResult } from '../../../src/tasks/task.ts';
import { countingStore } from '../../fixtures/counting-store.ts';
import { createPlainTable, enableWal, flushGeneration, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const settings = loadSettings({});
const minute = 60_000;

/** A real ledger with a clock that only the test moves: the middle of an hour, long after the tables were made. */
function planner(root: string) {
  let time = (Math.floor(Date.now() / (60 * minute)) + 48) * 60 * minute + 10 * minute;
  const clock = { now: () => time, monotonic: () => time, after: () => () => undefined };
  const ledger = createSqliteLedger({ file: ':memory:', clock });
  onTestFinished(() => ledger.close());
  let ids = 0;
  const lifecycle = createLifecycle({
    ledger,
    clock,
    settings,
    queue: { send: async () => undefined, deadLetter: async () => undefined, visible: async () => 0 },
    random: () => 0.5,
    newId: () => {
      ids += 1;
      return `id-${ids}`;
    },
  });
  const requests: string[] = [];
  const storageFor = (uri: string) => {
    const counted = countingStore(createFileObjectStore(uri), ({ call }) => requests.push(call));
    return counted.store;
  };
  const sweep = createSweep({ storageFor, lifecycle, roots: [root], settings, clock });
  return {
    lifecycle,
    clock,
    sweep,
    requests,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
  };
}

type Planner = ReturnType<typeof planner>;

async function finish({ lifecycle }: Planner, taskId: string, result: Partial<WorkResult>): Promise<void> {
  const outcome = await lifecycle.claim({ taskId, claimId: `claim-${taskId}`, holder: 'test' });
  if (outcome.outcome !== 'claimed') throw new Error(`not claimed: ${outcome.outcome}`);
  const claim: Claim = outcome.claim;
  await lifecycle.settle(claim, { end: 'done', result: resultOf(result) });
}

function resultOf(changes: Partial<WorkResult>): WorkResult {
  const version = changes.versionAfter ?? 0;
  const compaction = {
    fragmentsRemoved: 0,
    fragmentsAdded: 0,
    bytesRead: 0,
    bytesWritten: 0,
    durationMs: 1,
    versionBefore: version,
    versionAfter: version,
    strategy: 'none',
  } as const;
  return {
    rewroteNothing: true,
    versionBefore: version,
    versionAfter: version,
    metrics: {},
    compaction,
    proof: {},
    ...changes,
  };
}

describe('a sweep over real tables', () => {
  it('asks for what each table needs, once, and keeps the facts of all', async () => {
    const root = temporaryFolder();
    await createPlainTable(root, 'fragmented', rows(0, 200, 0), 20);
    const bitmap = await createPlainTable(root, 'bitmap', rows(0, 50, 0));
    await bitmap.createIndex('id', { config: Index.bitmap(), name: 'id_idx' });
    const healthy = await createPlainTable(root, 'healthy', rows(0, 50, 0));
    await healthy.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    const wal = await createPlainTable(root, 'wal', rows(0, 50, 0));
    await enableWal(wal);
    for (let n = 1; n <= 8; n += 1) await flushGeneration(wal, rows(0, 5, n));
    const fleet = planner(root);

    const first = await fleet.sweep('all');
    fleet.pass(minute);
    const second = await fleet.sweep('all');

    const asked = first.requested.map(({ task }) => [task.kind, task.target, task.reasons[0]?.split(':')[0]]);
    expect(asked.sort()).toEqual([
      ['Compact', join(root, 'fragmented.lance'), 'fragments-small'],
      ['IndexId', join(root, 'bitmap.lance'), 'key-index-wrong-kind'],
      ['MergeWal', join(root, 'wal.lance'), 'wal-pending'],
    ]);
    expect(second.requested).toEqual([]);
    expect([first.failed, second.failed]).toEqual([[], []]);
    const stored = await fleet.lifecycle.listFacts({ limit: 10 });
    expect(stored.facts.map(({ target }) => target)).toEqual(
      ['fragmented', 'wal', 'bitmap', 'healthy'].map((name) => join(root, `${name}.lance`)),
    );
  });

  it('S15: reads two small objects for each idle store, besides one listing for all', async () => {
    const root = temporaryFolder();
    for (const name of ['a', 'b', 'c']) {
      const table = await createPlainTable(root, name, rows(0, 20, 0));
      await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    }
    const fleet = planner(root);
    await fleet.sweep('all');
    fleet.pass(10 * minute);
    fleet.requests.length = 0;
    const report = await fleet.sweep('all');
    expect(report.tables).toHaveLength(3);
    expect([...fleet.requests].sort()).toEqual(['get', 'get', 'get', 'get', 'get', 'get', 'list']);
  });

  it('S17: merges small tails with the sweep of the tails, and with any sweep once they are old', async () => {
    const root = temporaryFolder();
    const table = await createPlainTable(root, 't', rows(0, 20, 0));
    await enableWal(table);
    await flushGeneration(table, rows(0, 5, 1));
    const kinds = (report: Awaited<ReturnType<Planner['sweep']>>) => report.requested.map(({ task }) => task.kind);

    // The clock is far ahead of the files, so that the tail is old at once.
    expect(kinds(await planner(root).sweep('merge'))).toEqual(['MergeWal']);
    const early = planner(root);
    early.pass(Date.now() - early.clock.now());
    expect(kinds(await early.sweep('merge'))).toEqual([]);
    expect(kinds(await early.sweep('tails'))).toEqual(['MergeWal']);
  });

  it('S29: does not ask for a compaction again after one that rewrote nothing at this version', async () => {
    const root = temporaryFolder();
    const table = await createPlainTable(root, 't', rows(0, 200, 0), 20);
    const fleet = planner(root);
    const compactions = async () => (await fleet.sweep('compaction')).requested.map(({ task }) => task);

    const [task] = await compactions();
    expect(task?.kind).toBe('Compact');
    await finish(fleet, task?.id ?? '', { versionAfter: await table.version() });
    fleet.pass(minute);
    expect((await compactions()).map(({ kind }) => kind)).toEqual(['IndexId']);

    await table.add([{ id: 'new', n: 1, payload: 'x' }] as never);
    fleet.pass(minute);
    expect((await compactions()).map(({ kind }) => kind)).toEqual(['Compact']);
  });

  it('goes on when one table is damaged, and keeps what was known of it', async () => {
    const root = temporaryFolder();
    await createPlainTable(root, 'a', rows(0, 20, 0));
    await createPlainTable(root, 'b', rows(0, 20, 0));
    const fleet = planner(root);
    await fleet.sweep('all');
    rmSync(join(root, 'a.lance', '_versions'), { recursive: true });
    fleet.pass(minute);

    const report = await fleet.sweep('all');

    const damaged = join(root, 'a.lance');
    expect(report.tables.map(({ target }) => target)).toEqual([join(root, 'b.lance')]);
    expect(report.failed).toEqual([{ target: damaged, error: expect.objectContaining({ code: 'TABLE_NOT_FOUND' }) }]);
    const kept = fromStored(await fleet.lifecycle.getFacts(damaged));
    expect(kept).toMatchObject({ rows: 20, error: { code: 'TABLE_NOT_FOUND' }, observedAt: fleet.clock.now() });
    expect(kept?.numbersFrom).toBe(fleet.clock.now() - minute);
  });
});

describe('an explanation', () => {
  it('has the results and the plan of the sweep, answers why nothing runs, and writes nothing', async () => {
    const root = temporaryFolder();
    await createPlainTable(root, 't', rows(0, 200, 0), 20);
    const fleet = planner(root);
    const target = join(root, 't.lance');
    const { store, requests } = countingStore(createFileObjectStore(target));
    const options = { target, lifecycle: fleet.lifecycle, settings, clock: fleet.clock };

    const before = await explain({ ...options, store });
    expect(before.plan.map(({ kind }) => kind)).toEqual(['Compact']);
    expect(before.reasons).toEqual([
      'Compact is due and not asked for yet: 20 fragments can be compacted (due from 16).',
      'IndexId is due, and comes with another task: There is no index on the key column id.',
    ]);
    expect(await fleet.lifecycle.getFacts(target)).toBeUndefined();
    expect(requests.map(({ call }) => call).filter((call) => call === 'putIfAbsent' || call === 'delete')).toEqual([]);

    const { requested } = await fleet.sweep('all');
    expect(requested.map(({ task }) => task.kind)).toEqual(before.plan.map(({ kind }) => kind));
    const taskId = requested[0]?.taskId ?? '';
    const ready = `Compact ${taskId} is queued and starts as soon as its queue has room.`;
    expect((await explain({ ...options, store })).reasons[0]).toBe(ready);

    await fleet.lifecycle.claim({ taskId, claimId: 'c', holder: 'test' });
    const facts = fromStored(await fleet.lifecycle.getFacts(target));
    const stored = await explainStored({ ...options, facts });
    expect(stored.reasons[0]).toBe(`Compact ${taskId} is running for 0 s (attempt 1).`);
    expect(stored).toMatchObject({ facts: { target }, attention: false });
  });
});
