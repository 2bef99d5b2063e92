import { describe, expect, it } from 'vitest';
import { parseMessage } from '../../../src/tasks/message.ts';

const GOOD = { kind: 'Compact', target: 's3://data/db/x.lance' };

function refusal(body: string) {
  try {
    parseMessage(body);
  } catch (error) {
    return error;
  }
  throw new Error('The message was taken.');
}

describe('the message body', () => {
  it('kind and target are enough', () => {
    expect(parseMessage(JSON.stringify(GOOD))).toEqual(GOOD);
  });

  it('every optional field is taken over as it is', () => {
    const message = { ...GOOD, taskId: 'a', dependsOn: ['b', 'c'], reason: 'by hand', force: true };
    expect(parseMessage(JSON.stringify(message))).toEqual(message);
  });

  it('what is not JSON is refused', () => {
    expect(refusal('{"kind":')).toMatchObject({ code: 'MESSAGE_NOT_JSON', disposition: 'permanent' });
  });

  it('unknown fields are refused with their names', () => {
    expect(refusal(JSON.stringify({ ...GOOD, taskID: 'a', urgent: true }))).toMatchObject({
      code: 'MESSAGE_FIELDS_UNKNOWN',
      disposition: 'permanent',
      message: expect.stringContaining('taskID, urgent'),
      details: { fields: ['taskID', 'urgent'] },
    });
  });

  it.each([
    ['kind', { ...GOOD, kind: 'compact' }],
    ['kind', { target: GOOD.target }],
    ['target', { kind: 'Compact' }],
    ['target', { ...GOOD, target: '' }],
    ['target', { ...GOOD, target: `s3://${'x'.repeat(900)}` }],
    ['taskId', { ...GOOD, taskId: 'with space' }],
    ['taskId', { ...GOOD, taskId: '' }],
    ['taskId', { ...GOOD, taskId: null }],
    ['dependsOn.1', { ...GOOD, dependsOn: ['a', 7] }],
    ['dependsOn', { ...GOOD, dependsOn: 'a' }],
    ['reason', { ...GOOD, reason: 'x'.repeat(501) }],
    ['force', { ...GOOD, force: 'yes' }],
  ])('a bad %s is refused by its name: %j', (field, message) => {
    expect(refusal(JSON.stringify(message))).toMatchObject({
      code: 'MESSAGE_INVALID',
      disposition: 'permanent',
      message: expect.stringContaining(field),
      details: { fields: [field] },
    });
  });

  it.each(['null', '[]', '7', '"Compact"'])('a body that is no object is refused: %s', (body) => {
    expect(refusal(body)).toMatchObject({ code: 'MESSAGE_INVALID', details: { fields: ['body'] } });
  });
});
