import { describe, expect, it } from 'vitest';
import { changeRecordOf } from '../../../src/aws/dynamo-stream-records.ts';

const Keys = { pk: { S: 'TASK#a' }, sk: { S: 'TASK' } };
const image = (state: string) => ({
  ...Keys,
  state: { S: state },
  attempts: { N: '2' },
  pendingDependencies: { SS: ['b', 'c'] },
});

describe('a record of the stream', () => {
  it('is a change with both images', () => {
    const record = { eventName: 'MODIFY', dynamodb: { Keys, OldImage: image('queued'), NewImage: image('running') } };

    expect(changeRecordOf(record)).toEqual({
      key: { pk: 'TASK#a', sk: 'TASK' },
      change: 'modify',
      expired: false,
      before: {
        pk: 'TASK#a',
        sk: 'TASK',
        attributes: { state: 'queued', attempts: 2, pendingDependencies: new Set(['b', 'c']) },
      },
      after: {
        pk: 'TASK#a',
        sk: 'TASK',
        attributes: { state: 'running', attempts: 2, pendingDependencies: new Set(['b', 'c']) },
      },
    });
  });

  it.each([
    ['Lambda', { type: 'Service', principalId: 'dynamodb.amazonaws.com' }, true],
    ['the streams’ API', { Type: 'Service', PrincipalId: 'dynamodb.amazonaws.com' }, true],
    ['a person', { type: 'User', principalId: 'somebody' }, false],
    ['nobody', undefined, false],
  ])('of a removal signed by %s is known', (_who, userIdentity, expired) => {
    const record = { eventName: 'REMOVE', dynamodb: { Keys, OldImage: image('done') }, userIdentity };

    expect(changeRecordOf(record)).toMatchObject({ change: 'remove', expired });
  });

  it.each([
    {},
    { eventName: 'OTHER', dynamodb: { Keys } },
    { eventName: 'INSERT', dynamodb: { Keys: { id: { S: 'x' } } } },
  ])('that is not of the ledger is none: %j', (record) => {
    expect(changeRecordOf(record)).toBeUndefined();
  });
});
