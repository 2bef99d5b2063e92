import { createHash } from 'node:crypto';
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { redeliveryDelayMs } from '../backoff.ts';
import { UpkeepError } from '../errors.ts';
import type { DeadLetter, DeadLetterQueue, RedriveOutcome, TaskQueue } from '../tasks/ports.ts';
import type { TaskKind } from '../tasks/task.ts';
import type { CloudNames } from './names.ts';
import { deadLetterAttributes, deadLetterOf, MOST_ATTRIBUTE_BYTES, redrivenBody } from './sqs-dead-letters.ts';

/** The queues on SQS. */
export interface SqsQueue extends TaskQueue, DeadLetterQueue {
  /** Makes a received message visible again after 5 s, 10 s, 15 s and so on, at most a minute. */
  retryLater(kind: TaskKind, receiptHandle: string, receiveCount: number): Promise<void>;
}

const LONGEST_DELAY_S = 900;
/** How long dead letters are hidden while an operator looks through them. Each look ends by showing them again. */
const LOOK_S = 20;
const EMPTY_ANSWERS = 3;
/** Bodies above this are cut when they become dead letters. SQS counts attributes as part of the message, whose limit may be 256 KiB. */
const LARGEST_DEAD_LETTER = 256 * 1024 - MOST_ATTRIBUTE_BYTES;

/**
 * One SQS queue for each kind. Messages carry the table as their group, so a table with many messages does not delay the others.
 * Errors: QUEUE_UNAVAILABLE (contention).
 */
export function createSqsQueue(options: {
  readonly client: SQSClient;
  readonly queues: CloudNames['queues'];
}): SqsQueue {
  const { client, queues } = options;

  async function send(QueueUrl: string, body: string, delayMs = 0): Promise<void> {
    const DelaySeconds = Math.min(LONGEST_DELAY_S, Math.max(0, Math.ceil(delayMs / 1000)));
    const request = new SendMessageCommand({
      QueueUrl,
      MessageBody: body,
      DelaySeconds,
      MessageGroupId: groupOf(body),
    });
    await asking(() => client.send(request));
  }

  async function look(QueueUrl: string, wanted: number, visit: (message: Message) => Promise<boolean>): Promise<void> {
    const seen = new Map<string, string>();
    try {
      for (let empty = 0; seen.size < wanted && empty < EMPTY_ANSWERS; ) {
        const request = new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: Math.min(10, wanted - seen.size),
          VisibilityTimeout: LOOK_S,
          MessageAttributeNames: ['All'],
          MessageSystemAttributeNames: ['SentTimestamp'],
        });
        const { Messages = [] } = await asking(() => client.send(request));
        // Dead letters that became visible again are not new. The search for a missing one must end.
        empty = Messages.every(({ MessageId = '' }) => seen.has(MessageId)) ? empty + 1 : 0;
        for (const message of Messages) {
          const known = seen.has(message.MessageId ?? '');
          seen.set(message.MessageId ?? '', message.ReceiptHandle ?? '');
          if (!known && (await visit(message))) {
            seen.delete(message.MessageId ?? '');
            return;
          }
        }
      }
    } finally {
      // Shown again at once, or after some seconds if that fails. Either way the operation itself succeeded.
      await Promise.allSettled(
        [...seen.values()].map((ReceiptHandle) => client.send(shownAgain(QueueUrl, ReceiptHandle))),
      );
    }
  }

  /** Finds a dead letter and passes it to `use`. Returns false when there is none. */
  async function withDeadLetter(
    kind: TaskKind,
    messageId: string,
    use: (deadLetter: DeadLetter, receipt: string) => Promise<void>,
  ) {
    let found = false;
    await look(queues[kind].deadLetters, Number.POSITIVE_INFINITY, async (message) => {
      const deadLetter = deadLetterOf(message, kind);
      if (deadLetter.messageId !== messageId) return false;
      await use(deadLetter, message.ReceiptHandle ?? '');
      found = true;
      return true;
    });
    return found;
  }

  async function removeDeadLetter(kind: TaskKind, ReceiptHandle: string): Promise<void> {
    const request = new DeleteMessageCommand({ QueueUrl: queues[kind].deadLetters, ReceiptHandle });
    await asking(() => client.send(request));
  }

  return {
    send: ({ kind, body, delayMs }) => send(queues[kind].url, body, delayMs),
    async deadLetter({ kind, body, messageId, code, message }) {
      const bytes = Buffer.from(body);
      const cut = bytes.length > LARGEST_DEAD_LETTER;
      const request = new SendMessageCommand({
        QueueUrl: queues[kind].deadLetters,
        MessageBody: cut
          ? bytes
              .subarray(0, LARGEST_DEAD_LETTER)
              .toString('utf8')
              .replace(/\uFFFD$/, '')
          : body,
        MessageAttributes: deadLetterAttributes({
          messageId,
          code,
          message,
          ...(cut ? { bodyBytes: bytes.length } : {}),
        }),
      });
      await asking(() => client.send(request));
    },
    async visible(kind) {
      const request = new GetQueueAttributesCommand({
        QueueUrl: queues[kind].url,
        AttributeNames: ['ApproximateNumberOfMessages'],
      });
      const { Attributes } = await asking(() => client.send(request));
      return Number(Attributes?.ApproximateNumberOfMessages ?? 0);
    },
    async retryLater(kind, ReceiptHandle, receiveCount) {
      const VisibilityTimeout = redeliveryDelayMs(receiveCount) / 1_000;
      const request = new ChangeMessageVisibilityCommand({
        QueueUrl: queues[kind].url,
        ReceiptHandle,
        VisibilityTimeout,
      });
      await asking(() => client.send(request));
    },
    // Reads dead letters without taking them. They are hidden from others for some seconds at most.
    async deadLetters(kind, limit) {
      const deadLetters: DeadLetter[] = [];
      await look(queues[kind].deadLetters, limit, async (message) => {
        deadLetters.push(deadLetterOf(message, kind));
        return false;
      });
      return deadLetters.sort((left, right) => right.deadAt - left.deadAt);
    },
    async redrive(kind, messageId) {
      let outcome: RedriveOutcome = 'not found';
      await withDeadLetter(kind, messageId, async (deadLetter, receipt) => {
        // Sent before it is deleted. A crash in between leaves two messages with one task id, which is one task.
        await send(queues[kind].url, redrivenBody(deadLetter));
        outcome = 'sent, dead letter stays';
        await removeDeadLetter(kind, receipt).then(
          () => {
            outcome = 'sent';
          },
          // The message was sent. The outcome says that the dead letter is still there.
          () => undefined,
        );
      });
      return outcome;
    },
    deleteDeadLetter: (kind, messageId) =>
      withDeadLetter(kind, messageId, (_letter, receipt) => removeDeadLetter(kind, receipt)),
  };
}

function shownAgain(QueueUrl: string, ReceiptHandle: string): ChangeMessageVisibilityCommand {
  return new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });
}

/** The table's digest, because a group's name has at most 128 plain characters. Bodies without a table share a group. */
function groupOf(body: string): string {
  let target: unknown;
  try {
    target = (JSON.parse(body) as { target?: unknown } | null)?.target;
  } catch {
    // An unreadable body becomes a dead letter when it arrives.
    target = undefined;
  }
  if (typeof target !== 'string') return 'unknown';
  return createHash('sha256').update(target).digest('hex').slice(0, 32);
}

async function asking<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : String(error);
    throw new UpkeepError(`The queue did not do what was asked: ${reason}`, {
      code: 'QUEUE_UNAVAILABLE',
      disposition: 'contention',
      next: 'It is tried again; if it stays, check the queue’s URL and the rights on it.',
      cause: error,
    });
  }
}
