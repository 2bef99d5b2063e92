import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSqliteQueue, type SqliteQueue } from '../../src/local/sqlite-queue.ts';
import { TestClock } from './test-clock.ts';

const QUEUE = 'Compact';
const TAKE = { limit: 10, visibilityMs: 30_000 };

describe('the SQLite queue', () => {
  let clock: TestClock;
  let queue: SqliteQueue;

  beforeEach(() => {
    clock = new TestClock();
    queue = createSqliteQueue({ file: ':memory:', clock, maxReceives: 3, retentionMs: 3_600_000 });
  });
  afterEach(() => queue.close());

  it('a message is received in its own queue, with its age and receive count', async () => {
    await queue.send({ kind: QUEUE, body: 'one' });
    const sentAt = clock.now();
    expect(await queue.receive('MergeWal', TAKE)).toEqual([]);
    expect(await queue.receive(QUEUE, TAKE)).toMatchObject([{ kind: QUEUE, body: 'one', sentAt, receiveCount: 1 }]);
  });

  it('a received message is hidden until its visibility ends, then comes again', async () => {
    await queue.send({ kind: QUEUE, body: 'one' });
    await queue.receive(QUEUE, TAKE);
    clock.pauseProcess(29_999);
    expect(await queue.receive(QUEUE, TAKE)).toEqual([]);
    clock.pauseProcess(1);
    expect(await queue.receive(QUEUE, TAKE)).toMatchObject([{ body: 'one', receiveCount: 2 }]);
  });

  it('an acknowledged message is gone, and an old receipt acknowledges nothing', async () => {
    await queue.send({ kind: QUEUE, body: 'one' });
    const [first] = await queue.receive(QUEUE, TAKE);
    clock.pauseProcess(30_000);
    const [second] = await queue.receive(QUEUE, TAKE);
    if (!first || !second) throw new Error('Nothing was received.');
    expect(await queue.acknowledge(first)).toBe(false);
    expect(await queue.retryLater(first, 0)).toBe(false);
    expect(await queue.acknowledge(second)).toBe(true);
    expect(await queue.nextVisibleAt(QUEUE)).toBeUndefined();
  });

  it('a delayed message comes when its delay is over, and the next time is known', async () => {
    await queue.send({ kind: QUEUE, body: 'late', delayMs: 5_000 });
    expect(await queue.receive(QUEUE, TAKE)).toEqual([]);
    expect(await queue.visible(QUEUE)).toBe(0);
    expect(await queue.nextVisibleAt(QUEUE)).toBe(clock.now() + 5_000);
    clock.pauseProcess(5_000);
    expect(await queue.visible(QUEUE)).toBe(1);
    expect(await queue.receive(QUEUE, TAKE)).toHaveLength(1);
  });

  it('a message put back is visible again after the time asked for', async () => {
    await queue.send({ kind: QUEUE, body: 'one' });
    const [message] = await queue.receive(QUEUE, TAKE);
    if (!message) throw new Error('Nothing was received.');
    expect(await queue.retryLater(message, 1_000)).toBe(true);
    clock.pauseProcess(1_000);
    expect(await queue.receive(QUEUE, TAKE)).toMatchObject([{ receiveCount: 2 }]);
  });

  it('a message that never finishes becomes a dead letter with its reason', async () => {
    await queue.send({ kind: QUEUE, body: 'poison' });
    for (let count = 0; count < 4; count += 1) {
      await queue.receive(QUEUE, TAKE);
      clock.pauseProcess(30_000);
    }
    expect(await queue.receive(QUEUE, TAKE)).toEqual([]);
    expect(await queue.deadLetters(QUEUE, 10)).toMatchObject([{ body: 'poison', code: 'RECEIVED_TOO_OFTEN' }]);
  });

  it('a dead letter keeps its body and reason and is sent again under its own id', async () => {
    await queue.deadLetter({ kind: QUEUE, body: '{', messageId: 'm1', code: 'MESSAGE_NOT_JSON', message: 'No JSON.' });
    expect(await queue.deadLetters(QUEUE, 10)).toEqual([
      { kind: QUEUE, body: '{', messageId: 'm1', code: 'MESSAGE_NOT_JSON', message: 'No JSON.', deadAt: clock.now() },
    ]);
    expect(await queue.redrive(QUEUE, 'm1')).toBe('sent');
    expect(await queue.redrive(QUEUE, 'm1')).toBe('not found');
    expect(await queue.receive(QUEUE, TAKE)).toMatchObject([{ messageId: 'm1', body: '{' }]);
    expect(await queue.deadLetters(QUEUE, 10)).toEqual([]);
  });

  it('a message older than the retention is dropped', async () => {
    await queue.send({ kind: QUEUE, body: 'old' });
    clock.pauseProcess(3_600_000);
    expect(await queue.receive(QUEUE, TAKE)).toEqual([]);
  });

  it('a send is heard of in its own process', async () => {
    let heard = 0;
    const stop = queue.onChange(() => {
      heard += 1;
    });
    await queue.send({ kind: QUEUE, body: 'one' });
    stop();
    await queue.send({ kind: QUEUE, body: 'two' });
    expect(heard).toBe(1);
  });
});
