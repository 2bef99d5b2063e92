import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openPlanner } from '../../src/aws/open-planner.ts';
import { openWorker, type QueueMessage } from '../../src/aws/open-worker.ts';
import { createSqsQueue } from '../../src/aws/sqs-queue.ts';
import type { UpkeepError } from '../../src/errors.ts';
import type { Perform } from '../../src/tasks/task.ts';
import { sqsClient } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { createCloudStack } from '../fixtures/cloud-stack.ts';
import { StreamReader } from '../fixtures/dynamo-ledger-world.ts';
import { contextOf } from '../fixtures/event-sources.ts';
import { loadHandlers } from '../fixtures/handlers.ts';

describe('the functions', () => {
  let fleet: CloudFleet;
  const lines: string[] = [];

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['fragmented'] });
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  function message(taskId: string): QueueMessage {
    return {
      messageId: taskId,
      receiptHandle: 'none',
      body: JSON.stringify({ kind: 'Compact', target: fleet.target('fragmented'), taskId }),
      attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) },
    };
  }

  function worker(wrapPerform: (perform: Perform) => Perform, exit: (error: UpkeepError) => void = () => undefined) {
    const environment = { ...process.env, ...fleet.stack.environment };
    return openWorker('Compact', environment, { wrapPerform, exit, write: (line) => lines.push(line) });
  }

  /** Half a second until the work has to stop. */
  const soon = { remainingMs: () => 30_500, requestId: 'request-7' };

  it('stop the work 30 s before their deadline and put it back in the queue', async () => {
    const waiting: Perform = (context) =>
      new Promise((_resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason));
      });
    await (await worker(() => waiting)).deliver(message('late'), soon);

    expect(await fleet.planner.lifecycle.getTask('late')).toMatchObject({
      state: 'queued',
      attempts: 1,
      failures: 1,
      error: { code: 'DEADLINE' },
    });
    expect(await fleet.planner.lifecycle.leaseOf(fleet.target('fragmented'))).toBeUndefined();
  });

  it('exit hard when a native call is in flight then, and leave the task to recover', async () => {
    const exits: string[] = [];
    let finish: () => void = () => undefined;
    const stuck: Perform = (context) =>
      context.native(
        () =>
          new Promise((_resolve, reject) => {
            finish = () => reject(new Error('the sandbox is gone'));
          }),
      );
    const sandbox = await worker(
      () => stuck,
      (error) => {
        exits.push(error.code);
        finish();
      },
    );
    await fleet.planner.lifecycle.admit({
      taskId: 'stuck',
      kind: 'Compact',
      target: fleet.target('fragmented'),
      force: true,
    });
    await sandbox.deliver(
      {
        ...message('stuck'),
        body: JSON.stringify({ kind: 'Compact', target: fleet.target('fragmented'), taskId: 'late', force: true }),
      },
      soon,
    );

    expect(exits).toEqual(['DEADLINE']);
  });

  it('log each step as one line with task id, target and token, and count it by kind and outcome alone', () => {
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const started = parsed.find(({ stage }) => stage === 'started');
    const counted = parsed.filter((line) => '_aws' in line) as {
      _aws: { CloudWatchMetrics: { Dimensions: string[][] }[] };
    }[];

    expect(started).toMatchObject({
      taskId: 'late',
      target: fleet.target('fragmented'),
      token: 1,
      requestId: 'request-7',
      kind: 'Compact',
    });
    expect(counted).toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: 'Compact', outcome: 'retry', Tasks: 1 })]),
    );
    const dimensions = counted.flatMap(({ _aws }) =>
      _aws.CloudWatchMetrics.flatMap(({ Dimensions }) => Dimensions.flat()),
    );
    expect(dimensions.filter((name) => !['kind', 'outcome', 'stage'].includes(name))).toEqual([]);
  });

  it('name the records of the stream that have to come again, and act on them then', async () => {
    const stack = await createCloudStack();
    const mute = await loadHandlers({
      ...stack,
      environment: { ...stack.environment, AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:9' },
    });
    const planner = await openPlanner(stack.environment, { write: () => undefined });
    await planner.lifecycle.admit({ taskId: 'a', kind: 'Compact', target: `${stack.root}/a.lance` });
    const records = (await new StreamReader(stack.names.table).next()) as never[];
    const { batchItemFailures } = await mute.stream({ Records: records }, contextOf(60_000));
    const heard = await loadHandlers(stack);
    const again = await heard.stream({ Records: records }, contextOf(60_000));

    expect(batchItemFailures).toHaveLength(1);
    expect(again.batchItemFailures).toEqual([]);
    expect(await createSqsQueue({ client: sqsClient(), queues: stack.names.queues }).visible('Compact')).toBe(1);
  });

  it('show a message that has to come again within seconds, not after the 90 minutes of its queue', async () => {
    const id = await fleet.put('MergeWal', { kind: 'MergeWal', target: fleet.target('x'), dependsOn: ['comes-later'] });
    await fleet.sources.drain();
    const returned = fleet.sources.returned;
    await new Promise((resolve) => setTimeout(resolve, 5_500));
    await fleet.planner.lifecycle.admit({ taskId: 'comes-later', kind: 'IndexId', target: fleet.target('x') });
    await fleet.sources.drain();

    expect(returned).toBe(1);
    expect(await fleet.planner.lifecycle.getTask(`message-${id}`)).toMatchObject({ dependsOn: ['comes-later'] });
  });

  it('refuse a schedule that names no sweep', async () => {
    await expect(fleet.handlers[0]?.sweep('everything' as never)).rejects.toMatchObject({ code: 'SWEEP_UNKNOWN' });
  });

  it('leave a root alone that another stack maintains: its sweep fails, and its queues begin nothing', async () => {
    await fleet.sweep();
    const stranger = await createCloudStack();
    const environment = { ...stranger.environment, UPKEEP_ROOTS: fleet.stack.root };
    const handlers = await loadHandlers({ ...stranger, environment });
    const before = (await fleet.queries.inspect(fleet.target('fragmented'))).version;
    const answer = await handlers.queues.Compact(
      {
        Records: [
          {
            ...message('foreign'),
            md5OfBody: '',
            messageAttributes: {},
            eventSource: 'aws:sqs',
            eventSourceARN: '',
            awsRegion: '',
          } as never,
        ],
      },
      contextOf(900_000),
    );

    await expect(handlers.sweep('all')).rejects.toMatchObject({ code: 'ROOT_OWNED' });
    expect(answer.batchItemFailures).toHaveLength(1);
    expect((await fleet.queries.inspect(fleet.target('fragmented'))).version).toBe(before);
  });
});
