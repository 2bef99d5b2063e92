import type { SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CloudNames } from '../../../src/aws/names.ts';
import { createSqsQueue } from '../../../src/aws/sqs-queue.ts';

const queueNames = (name: string) => ({ url: `q/${name}`, deadLetters: `q/${name}-dead` });
const QUEUES: CloudNames['queues'] = {
  Compact: queueNames('compact'),
  IndexId: queueNames('index'),
  MergeWal: queueNames('merge'),
  OptimizeIndices: queueNames('optimize'),
  Prune: queueNames('prune'),
};

describe('a queue on SQS', () => {
  let sent: Record<string, unknown>[];
  let answer: () => Promise<unknown>;

  beforeEach(() => {
    sent = [];
    answer = async () => ({});
  });

  const client = {
    send: ({ input }: { input: Record<string, unknown> }) => {
      sent.push(input);
      return answer();
    },
  } as unknown as SQSClient;
  const queue = createSqsQueue({ client, queues: QUEUES });
  const wake = (target: string, delayMs?: number) => {
    const body = JSON.stringify({ kind: 'Compact', target });
    return queue.send({ kind: 'Compact', body, ...(delayMs === undefined ? {} : { delayMs }) });
  };

  it('groups its messages by store, in names that SQS takes', async () => {
    await wake('s3://b/x.lance');
    await wake('s3://b/y.lance');
    await wake('s3://b/x.lance');
    await queue.send({ kind: 'Compact', body: 'not json' });
    const groups = sent.map(({ MessageGroupId }) => String(MessageGroupId));

    expect(groups[2]).toBe(groups[0]);
    expect(new Set(groups).size).toBe(3);
    expect(groups.every((group) => /^[a-z0-9]{1,128}$/.test(group))).toBe(true);
  });

  it.each([
    [undefined, 0],
    [-5, 0],
    [1, 1],
    [1_001, 2],
    [900_000, 900],
    [9_999_999, 900],
  ])('delays %s ms by %i s', async (delayMs, seconds) => {
    await wake('s3://b/x.lance', delayMs);

    expect(sent[0]).toMatchObject({ QueueUrl: 'q/compact', DelaySeconds: seconds });
  });

  it.each([
    [1, 5],
    [3, 15],
    [40, 60],
  ])('shows a message that came %i times again after %i s', async (receiveCount, seconds) => {
    await queue.retryLater('MergeWal', 'receipt', receiveCount);

    expect(sent).toEqual([{ QueueUrl: 'q/merge', ReceiptHandle: 'receipt', VisibilityTimeout: seconds }]);
  });

  it('puts a dead letter beside its queue, the body untouched', async () => {
    await queue.deadLetter({ kind: 'IndexId', body: '{"kind":', messageId: 'm', code: 'C', message: 'S' });

    expect(sent).toEqual([
      expect.objectContaining({
        QueueUrl: 'q/index-dead',
        MessageBody: '{"kind":',
        MessageAttributes: {
          code: { DataType: 'String', StringValue: 'C' },
          message: { DataType: 'String', StringValue: 'S' },
          messageId: { DataType: 'String', StringValue: 'm' },
        },
      }),
    ]);
  });

  it('says that it is not available as contention', async () => {
    answer = () => Promise.reject(new Error('no answer'));

    await expect(wake('s3://b/x.lance')).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      disposition: 'contention',
    });
  });

  describe('redrives a dead letter', () => {
    const deadLetter = (id: string) => ({
      MessageId: `copy-of-${id}`,
      ReceiptHandle: `receipt-of-${id}`,
      Body: '{"kind":"Compact","target":"s3://b/x.lance"}',
      MessageAttributes: { messageId: { DataType: 'String', StringValue: id } },
    });
    const failing = (name: string) => (command: { constructor: { name: string }; input: Record<string, unknown> }) => {
      sent.push(command.input);
      if (command.constructor.name === name) return Promise.reject(new Error('no answer'));
      return Promise.resolve(
        command.constructor.name === 'ReceiveMessageCommand'
          ? { Messages: [deadLetter('other'), deadLetter('mine')] }
          : {},
      );
    };
    const over = (name: string) =>
      createSqsQueue({ client: { send: failing(name) } as unknown as SQSClient, queues: QUEUES });
    const isSent = () =>
      sent.some(({ QueueUrl, MessageBody }) => QueueUrl === 'q/compact' && MessageBody !== undefined);

    it('and says so, though the dead letters beside it could not be shown again', async () => {
      expect(await over('ChangeMessageVisibilityCommand').redrive('Compact', 'mine')).toBe('sent');
      expect(isSent()).toBe(true);
    });

    it('and says so, though the dead letter could not be removed afterwards', async () => {
      expect(await over('DeleteMessageCommand').redrive('Compact', 'mine')).toBe('sent, dead letter stays');
      expect(isSent()).toBe(true);
    });

    it('never that it could not send', async () => {
      await expect(over('SendMessageCommand').redrive('Compact', 'mine')).rejects.toMatchObject({
        code: 'QUEUE_UNAVAILABLE',
      });
    });

    it('only the one that is named, and removes without sending when it is to be deleted', async () => {
      expect(await over('').redrive('Compact', 'absent')).toBe('not found');
      sent = [];
      expect(await over('').deleteDeadLetter('Compact', 'mine')).toBe(true);
      expect(isSent()).toBe(false);
      expect(sent.find(({ ReceiptHandle }) => ReceiptHandle === 'receipt-of-mine')).toEqual({
        QueueUrl: 'q/compact-dead',
        ReceiptHandle: 'receipt-of-mine',
      });
    });
  });

  it('counts what could be received now', async () => {
    answer = async () => ({ Attributes: { ApproximateNumberOfMessages: '12' } });

    expect(await queue.visible('MergeWal')).toBe(12);
  });
});
