import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { DeadLetter } from '../tasks/ports.ts';
import type { TaskKind } from '../tasks/task.ts';

/** Room kept for the attributes beside a body. */
export const MOST_ATTRIBUTE_BYTES = 8 * 1024;
const LONGEST_MESSAGE = 1_500;
/** SQS refuses the whole message when an attribute holds any of these characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const UNSENDABLE = /[^\u0009\u000a\u000d\u0020-\ud7ff\ue000-\ufffd]/g;

export function deadLetterAttributes(deadLetter: {
  readonly messageId: string;
  readonly code: string;
  readonly message: string;
  /** Full length of a body that was cut. */
  readonly bodyBytes?: number;
}): Record<string, MessageAttributeValue> {
  const text = (StringValue: string): MessageAttributeValue => ({ DataType: 'String', StringValue });
  return {
    code: text(deadLetter.code),
    message: text(deadLetter.message.slice(0, LONGEST_MESSAGE).replace(UNSENDABLE, '\ufffd') || 'unknown'),
    messageId: text(deadLetter.messageId),
    ...(deadLetter.bodyBytes === undefined
      ? {}
      : { bodyBytes: { DataType: 'Number', StringValue: String(deadLetter.bodyBytes) } }),
  };
}

/** A dead letter that SQS itself moved has no reason attribute. It was received too often. */
export function deadLetterOf(message: Message, kind: TaskKind): DeadLetter {
  const attribute = (name: string) => message.MessageAttributes?.[name]?.StringValue;
  return {
    messageId: attribute('messageId') ?? message.MessageId ?? '',
    kind,
    body: message.Body ?? '',
    code: attribute('code') ?? 'RECEIVED_TOO_OFTEN',
    message: attribute('message') ?? 'The message was received too often and never finished.',
    deadAt: Number(message.Attributes?.SentTimestamp ?? 0),
  };
}

/** The body carries the task id of the original message, so a task that it started is not started again. */
export function redrivenBody({ body, messageId }: DeadLetter): string {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    // It was refused because it is not JSON. It will be refused again, with that reason.
    return body;
  }
  if (message === null || typeof message !== 'object' || Array.isArray(message) || 'taskId' in message) return body;
  return JSON.stringify({ ...message, taskId: `message-${messageId}` });
}
