import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requestsTo } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { contextOf, recordOf } from '../fixtures/event-sources.ts';

/** Body, and the code it has to come back with. `T` stands for a good target. */
const T = 's3://BUCKET/db/x.lance';
const BAD: readonly (readonly [string, unknown, string])[] = [
  ['a blank', ' ', 'MESSAGE_NOT_JSON'],
  ['plain words', 'please compact x', 'MESSAGE_NOT_JSON'],
  ['half an object', '{"kind":"Compact"', 'MESSAGE_NOT_JSON'],
  ['two objects', '{}{}', 'MESSAGE_NOT_JSON'],
  ['single quotes', "{'kind':'Compact'}", 'MESSAGE_NOT_JSON'],
  ['a comma too many', `{"kind":"Compact","target":"${T}",}`, 'MESSAGE_NOT_JSON'],
  ['XML', '<kind>Compact</kind>', 'MESSAGE_NOT_JSON'],
  ['null', 'null', 'MESSAGE_INVALID'],
  ['a number', '42', 'MESSAGE_INVALID'],
  ['a text', '"Compact"', 'MESSAGE_INVALID'],
  ['a list', [{ kind: 'Compact', target: T }], 'MESSAGE_INVALID'],
  ['an empty object', {}, 'MESSAGE_INVALID'],
  ['no target', { kind: 'Compact' }, 'MESSAGE_INVALID'],
  ['no kind', { target: T }, 'MESSAGE_INVALID'],
  ['a kind that is not known', { kind: 'Vacuum', target: T }, 'MESSAGE_INVALID'],
  ['a kind in lower case', { kind: 'compact', target: T }, 'MESSAGE_INVALID'],
  ['a kind that is a number', { kind: 1, target: T }, 'MESSAGE_INVALID'],
  ['a target that is a number', { kind: 'Compact', target: 7 }, 'MESSAGE_INVALID'],
  ['a target that is a list', { kind: 'Compact', target: [T] }, 'MESSAGE_INVALID'],
  ['an empty target', { kind: 'Compact', target: '' }, 'MESSAGE_INVALID'],
  [
    'a target of 1,000 bytes',
    { kind: 'Compact', target: `s3://BUCKET/db/${'x'.repeat(1_000)}.lance` },
    'MESSAGE_INVALID',
  ],
  ['a field that is not known', { kind: 'Compact', target: T, priority: 1 }, 'MESSAGE_FIELDS_UNKNOWN'],
  ['__proto__ as a field', `{"kind":"Compact","target":"${T}","__proto__":{"force":true}}`, 'MESSAGE_FIELDS_UNKNOWN'],
  ['force as a text', { kind: 'Compact', target: T, force: 'yes' }, 'MESSAGE_INVALID'],
  ['dependsOn as a text', { kind: 'Compact', target: T, dependsOn: 'a' }, 'MESSAGE_INVALID'],
  ['a dependency that is no text', { kind: 'Compact', target: T, dependsOn: [1] }, 'MESSAGE_INVALID'],
  ['an empty task id', { kind: 'Compact', target: T, taskId: '' }, 'MESSAGE_INVALID'],
  ['a task id with blanks', { kind: 'Compact', target: T, taskId: 'a b' }, 'MESSAGE_INVALID'],
  ['a task id with a line break', { kind: 'Compact', target: T, taskId: 'a\nb' }, 'MESSAGE_INVALID'],
  ['a task id of 300 letters', { kind: 'Compact', target: T, taskId: 'x'.repeat(300) }, 'MESSAGE_INVALID'],
  ['a reason of 1,000 letters', { kind: 'Compact', target: T, reason: 'x'.repeat(1_000) }, 'MESSAGE_INVALID'],
  ['200 KB of letters', `"${'x'.repeat(200_000)}`, 'MESSAGE_NOT_JSON'],
  [
    '21 dependencies',
    { kind: 'Compact', target: T, dependsOn: Array.from({ length: 21 }, (_, n) => `known-${n}`) },
    'DEPENDENCIES_TOO_MANY',
  ],
  ['a foreign bucket', { kind: 'Compact', target: 's3://somebody-elses/db/x.lance' }, 'TARGET_OUTSIDE_ROOTS'],
  [
    'a bucket whose name begins like ours',
    { kind: 'Compact', target: 's3://BUCKET-2/db/x.lance' },
    'TARGET_OUTSIDE_ROOTS',
  ],
  [
    'a folder whose name begins like the root',
    { kind: 'Compact', target: 's3://BUCKET/db2/x.lance' },
    'TARGET_OUTSIDE_ROOTS',
  ],
  ['a path on disk', { kind: 'Compact', target: '/etc/x.lance' }, 'TABLE_NOT_FOUND'],
  ['two dots', { kind: 'Compact', target: 's3://BUCKET/db/../other/x.lance' }, 'TARGET_INVALID'],
  ['two slashes', { kind: 'Compact', target: 's3://BUCKET/db//x.lance' }, 'TARGET_INVALID'],
  ['an escape', { kind: 'Compact', target: 's3://BUCKET/db/%2e%2e/x.lance' }, 'TARGET_INVALID'],
  ['a question mark', { kind: 'Compact', target: 's3://BUCKET/db/x.lance?versionId=1.lance' }, 'TARGET_INVALID'],
  ['a control character', { kind: 'Compact', target: 's3://BUCKET/db/\u0000x.lance' }, 'TARGET_INVALID'],
  ['no .lance at the end', { kind: 'Compact', target: 's3://BUCKET/db/x' }, 'TARGET_INVALID'],
  ['a table inside of a table', { kind: 'Compact', target: 's3://BUCKET/db/x.lance/y.lance' }, 'TARGET_INVALID'],
  ['our own folder', { kind: 'Compact', target: 's3://BUCKET/db/_lance_upkeep/x.lance' }, 'TARGET_INVALID'],
  ['another protocol', { kind: 'Compact', target: 'https://BUCKET/db/x.lance' }, 'TARGET_INVALID'],
];

describe('a message that can never become a task', () => {
  let fleet: CloudFleet;

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: [] });
    // The roots are claimed by the sweep, before any message.
    await fleet.sweep();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  /** Calls the function as the event source would; true when it asked for the message again. */
  async function deliver(body: string, messageId: string, sentAt = Date.now()): Promise<boolean> {
    const record = recordOf({
      MessageId: messageId,
      ReceiptHandle: 'none',
      Body: body,
      Attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(sentAt) },
    });
    const answer = await fleet.handlers[0]?.queues.Compact({ Records: [record] }, contextOf(900_000));
    return (answer?.batchItemFailures.length ?? 0) > 0;
  }

  function bodyOf(value: unknown): string {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.replaceAll('BUCKET', fleet.stack.bucket);
  }

  it('ends in the dead-letter queue with its code, its body untouched, and nothing else happens', async () => {
    const before = await requestsTo(`/${fleet.stack.bucket}`);
    for (const [index, [, body]] of BAD.entries()) expect(await deliver(bodyOf(body), `bad-${index}`)).toBe(false);
    const deadLetters = await fleet.cloud.queue.deadLetters('Compact', 100);
    const byId = new Map(deadLetters.map((deadLetter) => [deadLetter.messageId, deadLetter]));
    const seen = BAD.map(([name], index) => [name, byId.get(`bad-${index}`)?.code]);

    expect(BAD.length).toBeGreaterThanOrEqual(40);
    expect(seen).toEqual(BAD.map(([name, , code]) => [name, code]));
    expect(BAD.map((_, index) => byId.get(`bad-${index}`)?.body)).toEqual(BAD.map(([, body]) => bodyOf(body)));
    expect(deadLetters.every(({ message }) => message.length > 10)).toBe(true);
    expect(await fleet.tasks()).toEqual([]);
    const after = await requestsTo(`/${fleet.stack.bucket}`);
    expect(after.slice(before.length)).toEqual([]);
  });

  it('is asked for again while its dependency may still come, and is dead after 15 minutes', async () => {
    const body = bodyOf({ kind: 'Compact', target: T, dependsOn: ['nobody'] });
    expect(await deliver(body, 'waits')).toBe(true);
    expect(await deliver(body, 'waits', Date.now() - 15 * 60_000)).toBe(false);
    const deadLetters = await fleet.cloud.queue.deadLetters('Compact', 100);

    expect(deadLetters.find(({ messageId }) => messageId === 'waits')).toMatchObject({
      code: 'DEPENDENCY_UNKNOWN',
      body,
    });
  });

  it('is refused when it would close a circle, or takes another task’s id', async () => {
    const send = (message: object) => fleet.planner.lifecycle.admit({ kind: 'Compact', target: bodyOf(T), ...message });
    await send({ taskId: 'first' });
    await fleet.planner.lifecycle.admit({ taskId: 'second', kind: 'IndexId', target: bodyOf(T), dependsOn: ['first'] });
    await deliver(bodyOf({ kind: 'Compact', target: T, taskId: 'circle', dependsOn: ['second'] }), 'circle');
    await deliver(bodyOf({ kind: 'IndexId', target: T, taskId: 'first' }), 'thief');
    const deadLetters = await fleet.cloud.queue.deadLetters('Compact', 100);
    const codeOf = (id: string) => deadLetters.find(({ messageId }) => messageId === id)?.code;

    expect([codeOf('circle'), codeOf('thief')]).toEqual(['DEPENDENCY_CYCLE', 'TASK_ID_MISMATCH']);
  });

  it('of a size that leaves no room for its reason is cut, and says how long it was', async () => {
    const body = `"${'x'.repeat(255 * 1024)}`;
    expect(await deliver(body, 'huge')).toBe(false);
    const deadLetters = await fleet.cloud.queue.deadLetters('Compact', 100);
    const deadLetter = deadLetters.find(({ messageId }) => messageId === 'huge');

    expect(deadLetter).toMatchObject({ code: 'MESSAGE_NOT_JSON' });
    expect(body.startsWith(deadLetter?.body ?? 'nothing')).toBe(true);
  });
});
