import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadSettings } from '../../src/config.ts';
import { buildDemoFleet } from '../../src/demo/fleet.ts';
import { openUpkeep } from '../../src/local/open-upkeep.ts';
import { COMPACTION_PREFIX, tablePk } from '../../src/tasks/items.ts';
import { TASK_KINDS } from '../../src/tasks/task.ts';
import { CloudFleet, stateOf } from '../fixtures/cloud-fleet.ts';
import { connectTo, misread, TABLES_ON_S3 } from '../fixtures/fleet-on-s3.ts';

const NAMES = TABLES_ON_S3.map(({ name }) => name);

/** The same fleet, maintained on one machine. */
async function onOneMachine(): Promise<Record<string, unknown>> {
  const directory = join(tmpdir(), `upkeep-cloud-${process.pid}`);
  try {
    const fleet = await buildDemoFleet(directory);
    const upkeep = await openUpkeep({
      roots: [directory],
      ledgerFile: join(directory, 'ledger.sqlite'),
      settings: loadSettings({}),
    });
    const report = await upkeep.run({ once: true, signal: new AbortController().signal });
    await upkeep.close();
    const tables = fleet.tables.filter(({ name }) => NAMES.includes(name));
    return Object.fromEntries(
      tables.map(({ name, target }) => [
        name,
        stateOf(report.tables.find((table) => table.target === target) as never),
      ]),
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

describe('the chain, from schedule events to healed tables', () => {
  let fleet: CloudFleet;

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: NAMES });
    await fleet.heal();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('ends every task, each with its first attempt', async () => {
    const tasks = await fleet.tasks();

    expect(tasks.length).toBeGreaterThan(8);
    expect(tasks.filter(({ state, attempts }) => state !== 'done' || attempts !== 1)).toEqual([]);
  });

  it('leaves every table with exactly the rows it had, for readers of the MemWAL and of the base alike', async () => {
    expect(await misread(fleet.stack.root, fleet.stack.environment, fleet.expected)).toEqual([]);
  });

  it('ends in the same state as on one machine', async () => {
    const states = await Promise.all(NAMES.map(async (name) => [name, await fleet.state(name)] as const));

    expect(Object.fromEntries(states)).toEqual(await onOneMachine());
  });

  it('has metrics of exactly the compactions that are done', async () => {
    const compactions = (await fleet.tasks()).filter(({ kind }) => kind === 'Compact');
    const kept = await Promise.all(
      NAMES.map((name) =>
        fleet.cloud.ledger.query({ pk: tablePk(fleet.target(name)), skPrefix: COMPACTION_PREFIX, limit: 50 }),
      ),
    );
    const ids = kept.flatMap(({ items }) => items.map(({ attributes }) => attributes.taskId));

    expect(ids.toSorted()).toEqual(compactions.map(({ id }) => id).toSorted());
  });

  it('leaves no scratch clone in the bucket', async () => {
    const { objects } = await fleet.cloud.storageFor(fleet.stack.root).list('_lance_upkeep/scratch/');

    expect(objects).toEqual([]);
  });

  it('leaves no message, no dead letter and nothing that waits', async () => {
    const { deadLetters, visible } = {
      deadLetters: await Promise.all(TASK_KINDS.map((kind) => fleet.cloud.queue.deadLetters(kind, 10))),
      visible: await Promise.all(TASK_KINDS.map((kind) => fleet.cloud.queue.visible(kind))),
    };

    expect({ deadLetters: deadLetters.flat(), visible }).toEqual({ deadLetters: [], visible: TASK_KINDS.map(() => 0) });
  });

  it('answers a compaction of four fragments with exactly one index run, and one that rewrites nothing with none', async () => {
    const connection = await connectTo(fleet.stack.root, fleet.stack.environment);
    const table = await connection.createTable('four', [{ id: 'a', value: 1 }]);
    for (const id of ['b', 'c', 'd']) await table.add([{ id, value: 2 }]);
    const target = fleet.target('four');
    const ofFour = async () => (await fleet.tasks()).filter((task) => task.target === target);

    const first = await fleet.put('Compact', { kind: 'Compact', target });
    await fleet.sources.drain();
    await fleet.minute();
    const second = await fleet.put('Compact', { kind: 'Compact', target });
    await fleet.sources.drain();
    await fleet.minute();
    const tasks = await ofFour();

    expect(tasks.map(({ id, kind, state, dependsOn }) => [id, kind, state, dependsOn]).toSorted()).toEqual(
      [
        [`message-${first}`, 'Compact', 'done', []],
        [`index-after-message-${first}`, 'IndexId', 'done', [`message-${first}`]],
        [`message-${second}`, 'Compact', 'done', []],
      ].toSorted(),
    );
    expect(tasks.find(({ id }) => id === `message-${first}`)?.result).toMatchObject({
      rewroteNothing: false,
      compaction: { fragmentsRemoved: 4, fragmentsAdded: 1 },
    });
    expect(tasks.find(({ id }) => id === `message-${second}`)?.result).toMatchObject({ rewroteNothing: true });
    expect(await fleet.state('four')).toMatchObject({
      rows: 4,
      fragments: 1,
      keyIndex: { kind: 'BTree', unindexedRows: 0 },
    });
  });
});
