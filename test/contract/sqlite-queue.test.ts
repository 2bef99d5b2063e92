import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSqliteQueue, type SqliteQueue } from '../../src/local/sqlite-queue.ts';
import { TestClock } from './test-clock.ts';

const LANE = 'Compact';
const TAKE = { limit: 10, visibilityMs: 30_000 };

describe('the SQLite queue', () => {
  let clock: TestClock;
  let queue: SqliteQueue;

  beforeEach(() => {
    clock = new TestClock();
    queue = createSqliteQueue({ file: ':memory:', clock, maxReceives: 3, retentionMs: 3_600_000 });
  });
  afterEach(() => queue.close());

  test('a message is received in its own lane, with its age and receive count', async () => {
    await queue.send({ lane: LANE, body: 'one' });
    const sentAt = clock.now();
    expect(await queue.receive('MergeWal', TAKE)).toEqual([]);
    expect(await queue.receive(LANE, TAKE)).toMatchObject([{ lane: LANE, body: 'one', sentAt, receiveCount: 1 }]);
  });

  test('a received message is hidden until its visibility ends, then comes again', async () => {
    await queue.send({ lane: LANE, body: 'one' });
    await queue.receive(LANE, TAKE);
    clock.pauseProcess(29_999);
    expect(await queue.receive(LANE, TAKE)).toEqual([]);
    clock.pauseProcess(1);
    expect(await queue.receive(LANE, TAKE)).toMatchObject([{ body: 'one', receiveCount: 2 }]);
  });

  test('an acknowledged message is gone, and an old receipt acknowledges nothing', async () => {
    await queue.send({ lane: LANE, body: 'one' });
    const [first] = await queue.receive(LANE, TAKE);
    clock.pauseProcess(30_000);
    const [second] = await queue.receive(LANE, TAKE);
    if (!first || !second) throw new Error('Nothing was received.');
    expect(await queue.acknowledge(first)).toBe(false);
    expect(await queue.retryLater(first, 0)).toBe(false);
    expect(await queue.acknowledge(second)).toBe(true);
    expect(await queue.nextVisibleAt(LANE)).toBeUndefined();
  });

  test('a delayed message comes when its delay is over, and the next time is known', async () => {
    await queue.send({ lane: LANE, body: 'late', delayMs: 5_000 });
    expect(await queue.receive(LANE, TAKE)).toEqual([]);
    expect(await queue.visible(LANE)).toBe(0);
    expect(await queue.nextVisibleAt(LANE)).toBe(clock.now() + 5_000);
    clock.pauseProcess(5_000);
    expect(await queue.visible(LANE)).toBe(1);
    expect(await queue.receive(LANE, TAKE)).toHaveLength(1);
  });

  test('a message put back is visible again after the time asked for', async () => {
    await queue.send({ lane: LANE, body: 'one' });
    const [message] = await queue.receive(LANE, TAKE);
    if (!message) throw new Error('Nothing was received.');
    expect(await queue.retryLater(message, 1_000)).toBe(true);
    clock.pauseProcess(1_000);
    expect(await queue.receive(LANE, TAKE)).toMatchObject([{ receiveCount: 2 }]);
  });

  test('a message that never finishes becomes a dead letter with its reason', async () => {
    await queue.send({ lane: LANE, body: 'poison' });
    for (let count = 0; count < 4; count += 1) {
      await queue.receive(LANE, TAKE);
      clock.pauseProcess(30_000);
    }
    expect(await queue.receive(LANE, TAKE)).toEqual([]);
    expect(await queue.deadLetters(LANE, 10)).toMatchObject([{ body: 'poison', code: 'RECEIVED_TOO_OFTEN' }]);
  });

  test('a dead letter keeps its body and reason and is sent again under its own id', async () => {
    await queue.deadLetter({ lane: LANE, body: '{', messageId: 'm1', code: 'MESSAGE_NOT_JSON', sentence: 'No JSON.' });
    expect(await queue.deadLetters(LANE, 10)).toEqual([
      { lane: LANE, body: '{', messageId: 'm1', code: 'MESSAGE_NOT_JSON', sentence: 'No JSON.', deadAt: clock.now() },
    ]);
    expect(await queue.redrive(LANE, 'm1')).toBe('sent');
    expect(await queue.redrive(LANE, 'm1')).toBe('not found');
    expect(await queue.receive(LANE, TAKE)).toMatchObject([{ messageId: 'm1', body: '{' }]);
    expect(await queue.deadLetters(LANE, 10)).toEqual([]);
  });

  test('a message older than the retention is dropped', async () => {
    await queue.send({ lane: LANE, body: 'old' });
    clock.pauseProcess(3_600_000);
    expect(await queue.receive(LANE, TAKE)).toEqual([]);
  });

  test('a send is heard of in its own process', async () => {
    let heard = 0;
    const stop = queue.onChange(() => {
      heard += 1;
    });
    await queue.send({ lane: LANE, body: 'one' });
    stop();
    await queue.send({ lane: LANE, body: 'two' });
    expect(heard).toBe(1);
  });
});
