import { describe, expect, it } from 'vitest';
import { deadLetterAttributes, deadLetterOf, redrivenBody } from '../../../src/aws/sqs-dead-letters.ts';

const deadLetter = { messageId: 'm', kind: 'Compact', code: 'C', message: 's', deadAt: 0 } as const;

describe('a dead letter', () => {
  it('keeps its reason in attributes that SQS takes, whatever the message holds', () => {
    const { message } = deadLetterAttributes({
      messageId: 'm',
      code: 'C',
      message: `bad \u0001 \ud800 ${'x'.repeat(5_000)}`,
    });

    expect(message?.StringValue).toMatch(/^bad \ufffd \ufffd x+$/);
    expect(message?.StringValue?.length).toBeLessThanOrEqual(1_500);
  });

  it('that SQS put aside by itself has a reason, too', () => {
    expect(deadLetterOf({ MessageId: 'm', Body: '{}' }, 'Compact')).toMatchObject({
      messageId: 'm',
      code: 'RECEIVED_TOO_OFTEN',
    });
  });

  it('goes again under the id of its first message', () => {
    expect(JSON.parse(redrivenBody({ ...deadLetter, body: '{"kind":"Compact","target":"t"}' }))).toEqual({
      kind: 'Compact',
      target: 't',
      taskId: 'message-m',
    });
  });

  it.each(['not json', '[1]', 'null', '{"taskId":"mine"}'])('%s goes again as it is', (body) => {
    expect(redrivenBody({ ...deadLetter, body })).toBe(body);
  });
});
