import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDynamoLedger } from '../../src/aws/dynamo-ledger.ts';
import type { WorkerOverrides } from '../../src/aws/open-worker.ts';
import { dynamoDbClient, orderFault } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { type Fault, FaultClient, failing, losingTheAnswer } from '../fixtures/fault-client.ts';
import { misread } from '../fixtures/fleet-on-s3.ts';
import { resetClock } from '../fixtures/handlers.ts';

const STORE = 'sessions';
const TASK = 'merge-by-hand';
const ALWAYS = 100_000;

describe('a merge, from its message to its end,', () => {
  let fleet: CloudFleet;

  beforeEach(async () => {
    fleet = await CloudFleet.create({ tables: [STORE] });
    await fleet.sweep();
  });
  afterEach(() => {
    resetClock();
    vi.restoreAllMocks();
  });

  const pathOf = (folder: string) => `/${fleet.stack.bucket}/db/${STORE}.lance/${folder}`;
  const task = () => fleet.planner.lifecycle.getTask(TASK);

  /** One delivery of the merge's message to a function of its own. */
  async function deliver(parts: WorkerOverrides = {}): Promise<void> {
    // Of the same load as the fleet's functions: an error of another load is of another class.
    const { openWorker } = await import('../../src/aws/open-worker.ts');
    const environment = { ...process.env, ...fleet.stack.environment };
    const worker = await openWorker('MergeWal', environment, { write: () => undefined, ...parts });
    await worker.deliver(
      {
        messageId: TASK,
        receiptHandle: 'none',
        body: JSON.stringify({ kind: 'MergeWal', target: fleet.target(STORE), taskId: TASK, force: true }),
        attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) },
      },
      { remainingMs: () => 900_000, requestId: 'request' },
    );
  }

  /** What follows once the fault is over: retries, indexes, and the sweeps after them. */
  async function endsWell(): Promise<void> {
    for (let minute = 0; minute < 4; minute += 1) await fleet.minute();
    expect(await task()).toMatchObject({ state: 'done' });
    await fleet.heal();
    expect(await misread(fleet.stack.root, fleet.stack.environment, fleet.expected)).toEqual([]);
    expect((await fleet.tasks()).filter(({ state }) => state !== 'done')).toEqual([]);
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
