import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { Index, type Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDynamoLedger } from '../../src/aws/dynamo-ledger.ts';
import type { WorkerOverrides } from '../../src/aws/open-worker.ts';
import { dynamoDbClient, orderFault } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { type Fault, FaultClient, failing, losingTheAnswer } from '../fixtures/fault-client.ts';
import { connectTo } from '../fixtures/fleet-on-s3.ts';
import { resetClock } from '../fixtures/handlers.ts';
import {
  enableWal,
  expectedRows,
  flushGeneration,
  plainSchema,
  plainTable,
  readRowsOf,
  rows,
  sorted,
} from '../fixtures/tables.ts';

const NAME = 'events';
const ALWAYS = 100_000;

describe('a merge, from its message to its end,', () => {
  let fleet: CloudFleet;
  let table: Table;
  /** Everything written to the table so far, oldest first; each test adds a generation. */
  const layers = [rows(0, 200, 0)];

  // One table for all tests: each of them has a generation of its own to merge. With INDEX_BEFORE_MERGE each would need an IndexId, too.
  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: [], settings: { INDEX_BEFORE_MERGE: 'false' } });
    const connection = await connectTo(fleet.stack.root, fleet.stack.environment);
    table = await connection.createEmptyTable(NAME, plainSchema as never);
    await table.add(plainTable(layers[0] ?? []) as never);
    await table.createIndex('id', { config: Index.btree() });
    await enableWal(table);
    // The sweep makes the root the stack's own.
    await fleet.sweep();
  });
  beforeEach(async () => {
    const layer = rows(50 * layers.length, 50 * layers.length + 100, layers.length);
    await flushGeneration(table, layer);
    layers.push(layer);
  });
  afterAll(() => {
    resetClock();
    vi.restoreAllMocks();
  });

  const pathOf = (folder: string) => `/${fleet.stack.bucket}/db/${NAME}.lance/${folder}`;
  const taskId = () => `merge-${layers.length}`;
  const task = () => fleet.planner.lifecycle.getTask(taskId());

  /** One delivery of the merge's message to a function of its own. */
  async function deliver(parts: WorkerOverrides = {}): Promise<void> {
    // Of the same load as the fleet's functions: an error of another load is of another class.
    const { openWorker } = await import('../../src/aws/open-worker.ts');
    const environment = { ...process.env, ...fleet.stack.environment };
    const worker = await openWorker('MergeWal', environment, { write: () => undefined, ...parts });
    await worker.deliver(
      {
        messageId: taskId(),
        receiptHandle: 'none',
        body: JSON.stringify({ kind: 'MergeWal', target: fleet.target(NAME), taskId: taskId(), force: true }),
        attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) },
      },
      { remainingMs: () => 900_000, requestId: 'request' },
    );
  }

  async function read(lsm: boolean): Promise<Map<string, Record<string, unknown>>> {
    const connection = await connectTo(fleet.stack.root, fleet.stack.environment);
    const found = await readRowsOf(await connection.openTable(NAME), { lsm });
    connection.close();
    return found;
  }

  /** The next try, with the fault over, leaves every row once and nothing that waits. */
  async function endsWell(): Promise<void> {
    for (let minute = 0; minute < 4 && (await task())?.state !== 'done'; minute += 1) await fleet.minute();
    expect(await task()).toMatchObject({ state: 'done' });
    const expected = sorted(expectedRows(...layers));
    expect(sorted(await read(true))).toEqual(expected);
    expect(sorted(await read(false))).toEqual(expected);
    const pending = (await fleet.state(NAME)).pending?.map(([generations]) => generations);
    expect(pending).toEqual([0]);
  }

  it.each([
    { what: '503 to LanceDB’s own writes', folder: 'data/', status: 503, code: 'STORE_THROTTLED', failures: 0 },
    { what: '503 to every commit', folder: '_versions/', status: 503, code: 'STORE_THROTTLED', failures: 0 },
    { what: '409 to LanceDB’s own writes', folder: 'data/', status: 409, code: 'STORE_THROTTLED', failures: 0 },
    { what: '403 to LanceDB’s own writes', folder: 'data/', status: 403, code: 'STORE_ACCESS_DENIED', failures: 1 },
    { what: '500 to LanceDB’s own writes', folder: 'data/', status: 500, code: 'STORE_UNREACHABLE', failures: 1 },
  ])('that meets $what waits for its next try with $code, and ends with every row once', async (the) => {
    const { folder, status, code, failures } = the;
    await orderFault({ path: pathOf(folder), method: 'PUT', status, times: ALWAYS });
    await deliver();
    await orderFault({ path: pathOf(folder), method: 'PUT', status, times: 0 });

    expect(await task()).toMatchObject({ state: 'queued', failures, error: { code } });
    await endsWell();
  });

  it.each([
    { what: 'the answer to a commit is lost', folder: '_versions/', status: 500, afterWriting: true },
    { what: 'two commits are answered with 409', folder: '_versions/', status: 409, afterWriting: false },
    { what: 'some requests are answered with 503', folder: '', status: 503, afterWriting: false },
  ])('of which $what ends with every row once', async ({ folder, status, afterWriting }) => {
    await orderFault({ path: pathOf(folder), method: 'PUT', status, times: 2, afterWriting });
    await deliver();

    await endsWell();
  });

  it.each([
    ['cancelled by other transactions', [canceled(), canceled(), canceled()]],
    ['whose answers are lost', [losingTheAnswer, losingTheAnswer]],
    ['cancelled and lost by turns', [canceled(), losingTheAnswer, canceled(), losingTheAnswer]],
  ] as const)('with transactions %s on the ledger is carried out once and ends done', async (_what, faults) => {
    const inner = new FaultClient(dynamoDbClient());
    // Reads pass: only what is written meets a fault, again and again through the whole attempt.
    let next = 0;
    const send = async (command: Parameters<Fault>[0]) => {
      const go = () => inner.client.send(command as never) as Promise<unknown>;
      if (command.constructor.name !== 'TransactWriteItemsCommand') return go();
      next += 1;
      const fault = next % 2 === 0 ? undefined : faults[Math.floor(next / 2) % faults.length];
      return fault ? fault(command, go) : go();
    };
    const ledger = createDynamoLedger({ client: { send } as never, table: fleet.stack.names.table, firstWaitMs: 1 });
    await deliver({ ledger });

    expect(await task()).toMatchObject({ state: 'done', attempts: 1, failures: 0 });
    await endsWell();
  });

  it('that runs while every write of the ledger is refused writes nothing, and is done when its message comes again', async () => {
    const refusing: Fault = (command, send) =>
      command.constructor.name === 'TransactWriteItemsCommand' ? Promise.reject(conflict()) : send();
    const inner = new FaultClient(dynamoDbClient());
    const send = (command: Parameters<Fault>[0]) =>
      refusing(command, () => inner.client.send(command as never) as Promise<unknown>);
    const ledger = createDynamoLedger({
      client: { send } as never,
      table: fleet.stack.names.table,
      firstWaitMs: 1,
      tries: 2,
    });
    await expect(deliver({ ledger })).rejects.toThrow();
    expect(await task()).toBeUndefined();
    await deliver();

    expect(await task()).toMatchObject({ state: 'done', attempts: 1 });
    await endsWell();
  });

  it('leaves a stack that has nothing more to do once the indexes have caught up', async () => {
    await deliver();
    await endsWell();
    await fleet.heal();

    expect((await fleet.tasks()).filter(({ state }) => state !== 'done')).toEqual([]);
  });
});

function conflict(): Error {
  return new TransactionCanceledException({
    message: 'Injected.',
    $metadata: {},
    CancellationReasons: [{ Code: 'TransactionConflict' }],
  });
}

function canceled(): Fault {
  return failing(conflict());
}
