import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { jsonOf, templateOf } from './fixtures/synthesized.ts';
import { resourceOf, resourcesOf } from './fixtures/template.ts';

const QUEUES = ['Compact', 'IndexId', 'MergeWal', 'OptimizeIndices', 'Prune'] as const;
/** Prune reads manifests and listings alone. */
const LIGHT = 'Prune';
const QUEUE = 'AWS::SQS::Queue';
const MAPPING = 'AWS::Lambda::EventSourceMapping';
const FUNCTION = 'AWS::Lambda::Function';

async function workQueue(kind: string, context: Readonly<Record<string, string>> = {}) {
  const template = await jsonOf(context);
  return {
    queue: resourceOf(template, QUEUE, `${kind}Queue`),
    deadLetters: resourceOf(template, QUEUE, `${kind}DeadLetters`),
    worker: resourceOf(template, FUNCTION, `${kind}WorkerFunction`),
    mapping: resourceOf(template, MAPPING, `${kind}Worker`)[1].Properties,
  };
}

describe.each(QUEUES)('the queue of %s', (kind) => {
  it('hides a message for six times the timeout of its function', async () => {
    const { queue, worker } = await workQueue(kind);
    expect(worker[1].Properties.Timeout).toBe(900);
    expect(queue[1].Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * 900);
  });

  it('gives a message up to its own dead letters, which keep it as long as the history, after at least five receives', async () => {
    const { queue, deadLetters } = await workQueue(kind);
    const { deadLetterTargetArn, maxReceiveCount } = queue[1].Properties.RedrivePolicy as Record<string, unknown>;
    expect(deadLetterTargetArn).toEqual({ 'Fn::GetAtt': [deadLetters[0], 'Arn'] });
    expect(maxReceiveCount).toBeGreaterThanOrEqual(5);
    expect(deadLetters[1].Properties.MessageRetentionPeriod).toBe(7 * 86_400);
  });

  it('receives up to 30 times a message that waits 15 minutes for its dependency, without giving it up', async () => {
    const { queue } = await workQueue(kind);
    const { maxReceiveCount } = queue[1].Properties.RedrivePolicy as { maxReceiveCount: number };
    // 5, 10, ... 55 seconds and then a minute each: src/aws/sqs-queue.ts
    const receives = 11 + Math.ceil((15 * 60 - 330) / 60);
    expect(maxReceiveCount).toBeGreaterThan(receives + 10);
  });

  it('hands its function one message at a time and lets it name the one that has to come again', async () => {
    const { queue, worker, mapping } = await workQueue(kind);
    expect(mapping).toMatchObject({
      BatchSize: 1,
      EventSourceArn: { 'Fn::GetAtt': [queue[0], 'Arn'] },
      FunctionName: { Ref: worker[0] },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  it('has a cap: as much reserved for its function as its event source may use at once', async () => {
    const { worker, mapping } = await workQueue(kind);
    const cap = (mapping.ScalingConfig as { MaximumConcurrency: number }).MaximumConcurrency;
    expect(cap).toBeGreaterThanOrEqual(2);
    expect(worker[1].Properties.ReservedConcurrentExecutions).toBe(cap);
  });

  it(`runs on Node 24 and x86_64, ${kind === LIGHT ? 'without a layer' : 'with the shared layer of LanceDB'}`, async () => {
    const { worker } = await workQueue(kind);
    const template = await jsonOf();
    const [layer] = resourcesOf(template, 'AWS::Lambda::LayerVersion');
    expect(resourcesOf(template, 'AWS::Lambda::LayerVersion')).toHaveLength(1);
    expect(worker[1].Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['x86_64'],
      Handler: 'index.handler',
    });
    expect(worker[1].Properties.Layers).toEqual(kind === LIGHT ? undefined : [{ Ref: layer?.[0] }]);
  });
});

describe('the cap on merges', () => {
  it.each([2, 4, 32])(
    'of %s is the reserved concurrency and the maximum concurrency of the event source',
    async (cap) => {
      const { worker, mapping } = await workQueue('MergeWal', { MERGE_WAL_CONCURRENCY: String(cap) });
      expect(worker[1].Properties.ReservedConcurrentExecutions).toBe(cap);
      expect(mapping.ScalingConfig).toEqual({ MaximumConcurrency: cap });
    },
  );

  it('of 1 is the reserved concurrency alone, and messages that nobody could run are received a thousand times', async () => {
    const { queue, worker, mapping } = await workQueue('MergeWal', { MERGE_WAL_CONCURRENCY: '1' });
    expect(worker[1].Properties.ReservedConcurrentExecutions).toBe(1);
    expect(mapping).not.toHaveProperty('ScalingConfig');
    expect(queue[1].Properties.RedrivePolicy).toMatchObject({ maxReceiveCount: 1000 });
  });

  it('of 1 hides what nobody could run for no longer than its function may take', async () => {
    const { queue, worker } = await workQueue('MergeWal', { MERGE_WAL_CONCURRENCY: '1' });
    expect(queue[1].Properties.VisibilityTimeout).toBe(worker[1].Properties.Timeout);
  });

  it('leaves the other queues alone', async () => {
    const capped = await workQueue('Compact', { MERGE_WAL_CONCURRENCY: '1' });
    expect(capped.mapping).toEqual((await workQueue('Compact')).mapping);
  });
});

describe('the caps', () => {
  it.each([
    ['Compact', 'COMPACT_CONCURRENCY'],
    ['IndexId', 'INDEX_ID_CONCURRENCY'],
    ['MergeWal', 'MERGE_WAL_CONCURRENCY'],
    ['OptimizeIndices', 'OPTIMIZE_INDICES_CONCURRENCY'],
    ['Prune', 'PRUNE_CONCURRENCY'],
  ])('of %s is the setting %s', async (kind, name) => {
    const { worker, mapping } = await workQueue(kind, { [name]: '3' });
    expect(worker[1].Properties.ReservedConcurrentExecutions).toBe(3);
    expect(mapping.ScalingConfig).toEqual({ MaximumConcurrency: 3 });
  });

  it('reserve nothing of the account with reservedConcurrency=false, and are kept by the event sources', async () => {
    const context = { reservedConcurrency: 'false' };
    for (const [id, { Properties }] of resourcesOf(await jsonOf(context), FUNCTION)) {
      expect(Properties, id).not.toHaveProperty('ReservedConcurrentExecutions');
    }
    for (const kind of QUEUES) expect((await workQueue(kind, context)).mapping).toHaveProperty('ScalingConfig');
  });
});

describe.each([1, 2, 7, 30])('with a history of %i days', (days) => {
  it('messages are gone before their task is forgotten, and dead letters no later', async () => {
    const { queue, deadLetters } = await workQueue('Compact', { TASK_HISTORY_DAYS: String(days) });
    const history = days * 86_400;
    expect(queue[1].Properties.MessageRetentionPeriod).toBeLessThan(history);
    expect(deadLetters[1].Properties.MessageRetentionPeriod).toBeLessThanOrEqual(history);
    expect(deadLetters[1].Properties.MessageRetentionPeriod).toBe(Math.min(14, days) * 86_400);
  });
});

describe('every queue', () => {
  it('is encrypted', async () => {
    for (const [, queue] of resourcesOf(await jsonOf(), QUEUE))
      expect(queue.Properties.SqsManagedSseEnabled).toBe(true);
  });

  it('is encrypted with your key when you name one', async () => {
    const kmsKeyArn = 'arn:aws:kms:us-east-1:111122223333:key/1';
    for (const [, queue] of resourcesOf(await jsonOf({ kmsKeyArn }), QUEUE)) {
      expect(queue.Properties.KmsMasterKeyId).toBe(kmsKeyArn);
    }
  });

  it('refuses whoever comes without TLS', async () => {
    const template = await templateOf();
    const queues = resourcesOf(await jsonOf(), QUEUE);
    expect(queues).toHaveLength(11);
    for (const [id] of queues) {
      template.hasResourceProperties('AWS::SQS::QueuePolicy', {
        Queues: [{ Ref: id }],
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({
              Effect: 'Deny',
              Action: 'sqs:*',
              Principal: { AWS: '*' },
              Condition: { Bool: { 'aws:SecureTransport': 'false' } },
            }),
          ]),
        },
      });
    }
  });
});
