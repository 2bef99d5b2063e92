import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shardOf, taskKey } from '../../src/tasks/items.ts';
import { type MakeLedger, MINUTE, TABLE, World, type WorldOptions } from './ledger-world.ts';

export function describeRecover(make: MakeLedger, options: WorldOptions): void {
  describe('recover', () => {
    let world: World;
    const gone = new Set<string>();

    beforeEach(() => {
      gone.clear();
      world = new World(make, options);
    });
    afterEach(() => world.close());

    /** Index reads may be stale, so that one run may miss what the next one sees. */
    async function recover(of: World = world): Promise<void> {
      for (let tries = 0; tries < (of.hostile ? 12 : 1); tries += 1) await of.lifecycle.recover();
    }

    const loseRecords = () => loseRecordsOf(world);

    it('an expired lease ends its attempt, and the task runs again', async () => {
      await world.admit('a');
      await world.begin('a');
      await world.clock.advance(210_001);
      await recover();
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'queued', error: { code: 'HOLDER_LOST' } });
      expect(await world.lifecycle.leaseOf(TABLE)).toBeUndefined();
      await world.clock.advance(MINUTE);
      await world.begin('a');
    });

    it('a lease that the index calls expired and that was renewed since is left alone', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.clock.advance(200_000);
      const stale = await world.base.ledger.queryIndex(everyLease(shardOf(TABLE)));
      expect(stale).toHaveLength(1);
      await world.lifecycle.renew(claim);
      await world.clock.advance(20_000);
      const deceived = new World(() => ({
        ...world.base,
        ledger: { ...world.base.ledger, queryIndex: async () => stale },
      }));
      await deceived.lifecycle.recover();
      expect(await world.state('a')).toBe('running');
    });

    it('a holder whose process is gone is seen without waiting for the lease to end', async () => {
      const here = new World(make, { ...options, holderGone: (holder) => gone.has(holder) });
      await here.admit('a');
      await here.begin('a', 'x', 'host|1|dead');
      gone.add('host|1|dead');
      await recover(here);
      expect(await here.state('a')).toBe('queued');
      here.close();
    });

    it('a task is not woken while its kind cools down, and does not use up the queue', async () => {
      for (const id of ['a', 'b', 'c']) {
        await world.admit(id);
        await world.fail(await world.begin(id), 'permanent');
      }
      await world.admit('d');
      await loseRecords();
      for (let minute = 0; minute < 9; minute += 1) {
        await world.clock.advance(MINUTE);
        await recover();
      }
      expect(world.queue.sent).toEqual([]);
      for (let minute = 0; minute < (world.hostile ? 9 : 1); minute += 1) {
        await world.clock.advance(MINUTE);
        await recover();
      }
      expect(world.queue.wakeUpsOf('d').length).toBeGreaterThan(0);
    });

    it('a queue gets at most 2 x its cap + 10 visible messages, the oldest tasks first, and other queues theirs', async () => {
      for (let index = 0; index < 30; index += 1) {
        await world.admit(`merge-${index}`, { kind: 'MergeWal', target: `/data/db/${index}.lance` });
        await world.clock.advance(1_000);
      }
      await world.admit('a');
      await loseRecords();
      await world.clock.advance(2 * MINUTE);
      world.queue.visibleCounts.set('MergeWal', 8);
      await world.lifecycle.recover();
      const merges = world.queue.sent.filter((message) => message.kind === 'MergeWal');
      expect(merges.length).toBeLessThanOrEqual(10);
      if (!world.hostile) {
        expect(merges.map((message) => message.taskId)).toEqual(
          Array.from({ length: 10 }, (_, index) => `merge-${index}`),
        );
        expect(world.queue.wakeUpsOf('a')).toHaveLength(1);
      }
    });

    it('a waiting task whose release was lost is rechecked again after 15 minutes', async () => {
      await world.admit('a');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['a'] });
      await world.finish(await world.begin('a'));
      await loseRecords();
      await world.base.ledger.transact([{ kind: 'update', key: taskKey('a'), remove: ['unnotifiedShard'], when: [] }], {
        clientToken: 'hide-from-notified',
      });
      await world.clock.advance(15 * MINUTE - 1);
      await recover();
      expect(await world.state('index')).toBe('waiting');
      await world.clock.advance(1);
      await recover();
      expect(await world.state('index')).toBe('queued');
    });

    it('a waiting task whose dependency is gone for good fails with its name', async () => {
      await world.admit('a');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['a'] });
      await loseRecords();
      await world.base.ledger.transact([{ kind: 'delete', key: taskKey('a'), when: [] }], { clientToken: 'gone' });
      await world.clock.advance(15 * MINUTE);
      await recover();
      expect(await world.lifecycle.getTask('index')).toMatchObject({
        state: 'failed',
        error: { code: 'DEPENDENCY_FAILED', message: expect.stringContaining('a') },
      });
    });

    it('a waiting task whose dependency still runs goes on waiting', async () => {
      await world.admit('a');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['a'] });
      const claim = await world.begin('a');
      for (let minute = 0; minute < 40; minute += 2) {
        await world.clock.advance(2 * MINUTE);
        await world.lifecycle.renew(claim);
        await recover();
      }
      expect(await world.state('index')).toBe('waiting');
    });

    it('an ended task that nobody notified about is notified, followed and given its time to live', async () => {
      await world.admit('a');
      await world.admit('merge', { kind: 'MergeWal', dependsOn: ['a'] });
      await world.finish(await world.begin('a'));
      await loseRecords();
      await world.clock.advance(MINUTE);
      await recover();
      expect(await world.state('merge')).toBe('queued');
      expect(await world.state('index-after-a')).toBe('queued');
      expect((await world.base.ledger.get(taskKey('a')))?.attributes.removeAfter).toBeGreaterThan(0);
    });

    it('one item that cannot be handled is reported and does not hold up the others', async () => {
      let broken = 0;
      const stubborn = new World(make, {
        ...options,
        wrap: (ledger) => ({
          ...ledger,
          get: async (key) => {
            if (key.pk === taskKey('bad').pk) {
              broken += 1;
              throw new Error('This item cannot be read.');
            }
            return ledger.get(key);
          },
        }),
      });
      await stubborn.admit('bad');
      await stubborn.admit('good', { target: '/data/db/y.lance' });
      for (let run = 0; run < (stubborn.hostile ? 6 : 1); run += 1) {
        await stubborn.clock.advance(10 * MINUTE);
        await recover(stubborn);
      }
      expect(broken).toBeGreaterThan(0);
      expect(stubborn.queue.wakeUpsOf('good').length).toBeGreaterThan(0);
      stubborn.close();
    });
  });
}

function everyLease(partition: string) {
  return { index: 'leases', partition, order: 'ascending', limit: 9 } as const;
}

/** A run a minute for 18 hours: a thousand of them, which only a ledger in this process answers in no time. */
export function describeWakeSteps(make: MakeLedger, options: WorldOptions): void {
  describe('recover over a day', () => {
    let world: World;

    beforeEach(() => {
      world = new World(make, options);
    });
    afterEach(() => world.close());

    it('a queued task whose wake-up was lost is woken after a minute, then ever more rarely, up to 4 hours', async () => {
      await world.admit('a');
      await loseRecordsOf(world);
      const times: number[] = [];
      const start = world.clock.now();
      for (let minute = 1; minute <= 18 * 60; minute += 1) {
        await world.clock.advance(MINUTE);
        world.queue.clear();
        await world.lifecycle.recover();
        if (world.queue.sent.length > 0) times.push((world.clock.now() - start) / MINUTE);
      }
      const steps = times.map((time, index) => time - (times[index - 1] ?? 0));
      if (!world.hostile) expect(steps).toEqual([1, 1, 2, 4, 8, 16, 32, 64, 128, 240, 240, 240]);
      expect(times.length).toBeGreaterThanOrEqual(8);
      expect(times.length).toBeLessThanOrEqual(12);
    });
  });
}

/** Every record of the stream is lost. */
async function loseRecordsOf(world: World): Promise<void> {
  for (;;) {
    const { records } = await world.base.feed.read(100);
    const last = records.at(-1);
    if (!last) return;
    await world.base.feed.handled(last.sequence);
  }
}
