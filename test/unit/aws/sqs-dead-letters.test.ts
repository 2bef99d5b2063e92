import { describe, expect, it } from 'vitest';
import { letterAttributes, letterOf, redrivenBody } from '../../../src/aws/sqs-dead-letters.ts';

const letter = { messageId: 'm', lane: 'Compact', code: 'C', sentence: 's', deadAt: 0 } as const;

describe('a dead letter', () => {
  it('keeps its reason in attributes that SQS takes, whatever the sentence holds', () => {
    const { sentence } = letterAttributes({
      messageId: 'm',
      code: 'C',
      sentence: `bad \u0001 \ud800 ${'x'.repeat(5_000)}`,
    });

    expect(sentence?.StringValue).toMatch(/^bad \ufffd \ufffd x+$/);
    expect(sentence?.StringValue?.length).toBeLessThanOrEqual(1_500);
  });

  it('that SQS put aside by itself has a reason, too', () => {
    expect(letterOf({ MessageId: 'm', Body: '{}' }, 'Compact')).toMatchObject({
      messageId: 'm',
      code: 'RECEIVED_TOO_OFTEN',
    });
  });

  it('goes again under the id of its first message', () => {
    expect(JSON.parse(redrivenBody({ ...letter, body: '{"kind":"Compact","target":"t"}' }))).toEqual({
      kind: 'Compact',
      target: 't',
      taskId: 'message-m',
    });
  });

  it.each(['not json', '[1]', 'null', '{"taskId":"mine"}'])('%s goes again as it is', (body) => {
    expect(redrivenBody({ ...letter, body })).toBe(body);
  });
});
