import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { edgeKey, taskKey } from '../../src/tasks/items.ts';
import type { SequencedRecord } from '../../src/tasks/ports.ts';
import { compaction, type MakeLedger, MINUTE, TABLE, World, type WorldOptions } from './ledger-world.ts';

export function describeStream(make: MakeLedger, options: WorldOptions): void {
  describe('stream', () => {
    let world: World;

    beforeEach(() => {
      world = new World(make, options);
    });
    afterEach(() => world.close());

    const timeToLive = async (id: string) => (await world.base.ledger.get(taskKey(id)))?.attributes.removeAfter;
    const index = { kind: 'IndexId' } as const;

    /** The records that are there now, without handling them. */
    async function records(): Promise<readonly SequencedRecord[]> {
      return (await world.base.feed.read(100)).records;
    }

    it('a task that became queued is woken on its own queue, and the wake-up names nothing but the task', async () => {
      await world.admit('a');
      await world.handleChanges();
      const [wake] = world.queue.wakeUpsOf('a');
      expect(wake).toMatchObject({ kind: 'Compact', delayMs: 0 });
      expect(JSON.parse(wake?.body ?? '')).toEqual({ kind: 'Compact', target: TABLE, taskId: 'a' });
    });

    it('a waiting task is not woken', async () => {
      await world.admit('a');
      await world.admit('index', { ...index, dependsOn: ['a'] });
      await world.handleChanges();
      expect(world.queue.wakeUpsOf('index')).toEqual([]);
    });

    it('a retry is woken for the end of its waiting time, at most 900 s away', async () => {
      await world.admit('a');
      await world.fail(await world.begin('a'));
      world.queue.clear();
      await world.handleChanges();
      expect(new Set(world.queue.wakeUpsOf('a').map((wake) => wake.delayMs))).toEqual(new Set([MINUTE]));
      await world.admit('b', { target: '/data/db/y.lance' });
      for (let count = 0; count < 4; count += 1) {
        await world.fail(await world.begin('b'));
        const { notBefore } = (await world.lifecycle.getTask('b')) ?? {};
        if (count < 3) await world.clock.advance((notBefore ?? 0) - world.clock.now());
      }
      world.queue.clear();
      await world.handleChanges();
      expect(new Set(world.queue.wakeUpsOf('b').map((wake) => wake.delayMs))).toEqual(new Set([900_000]));
    });

    it('a record that comes after its task began wake-ups nobody', async () => {
      await world.admit('a');
      const late = await records();
      await world.begin('a');
      for (const record of late) await world.lifecycle.onRecord(record);
      expect(world.queue.sent).toEqual([]);
    });

    it('changes of a queued task that are no event send nothing', async () => {
      await world.admit('a', { reason: 'one' });
      await world.handleChanges();
      world.queue.clear();
      await world.admit('b', { reason: 'two' });
      await world.handleChanges();
      expect(world.queue.sent).toEqual([]);
      await world.admit('c', { force: true });
      await world.handleChanges();
      expect(world.queue.wakeUpsOf('a').length).toBeGreaterThan(0);
    });

    it('dependents of a done task become queued, whichever way the record comes', async () => {
      await world.admit('a');
      await world.admit('merge', { kind: 'MergeWal' });
      await world.admit('index', { ...index, dependsOn: ['a', 'merge'] });
      await world.finish(await world.begin('a'));
      const all = await records();
      for (const record of [...all, ...all]) await world.lifecycle.onRecord(record);
      expect(await world.lifecycle.getTask('index')).toMatchObject({
        state: 'waiting',
        pendingDependencies: ['merge'],
      });
      await world.handleChanges();
      await world.finish(await world.begin('merge'));
      await world.handleChanges();
      expect(await world.lifecycle.getTask('index')).toMatchObject({ state: 'queued', pendingDependencies: [] });
      expect(world.queue.wakeUpsOf('index').length).toBeGreaterThan(0);
      await world.begin('index');
    });

    it('two dependencies notified at the same moment release their dependent once and surely', async () => {
      await world.admit('a');
      await world.admit('b', { target: '/data/db/y.lance' });
      await world.admit('index', { ...index, dependsOn: ['a', 'b'] });
      await world.finish(await world.begin('a'));
      await world.finish(await world.begin('b'));
      const all = await records();
      await Promise.all([...all, ...all].map((record) => world.lifecycle.onRecord(record)));
      expect(await world.state('index')).toBe('queued');
    });

    it('a failed task fails its dependents, and theirs', async () => {
      await world.admit('a');
      await world.admit('index', { ...index, dependsOn: ['a'] });
      await world.admit('merge', { kind: 'MergeWal', dependsOn: ['index'] });
      await world.fail(await world.begin('a'), 'permanent');
      await world.handleChanges();
      expect(await world.lifecycle.getTask('index')).toMatchObject({
        state: 'failed',
        error: { code: 'DEPENDENCY_FAILED', message: expect.stringContaining('a') },
      });
      expect(await world.state('merge')).toBe('failed');
      expect((await world.lifecycle.health(TABLE)).IndexId.streak).toBe(0);
      expect(await world.lifecycle.openTasks(TABLE)).toEqual([]);
    });

    it('an ended task gets its time to live only after its dependents were notified', async () => {
      await world.admit('a');
      await world.admit('index', { ...index, dependsOn: ['a'] });
      await world.finish(await world.begin('a'));
      expect(await timeToLive('a')).toBeUndefined();
      await world.handleChanges();
      expect(await timeToLive('a')).toBe(Math.ceil((world.clock.now() + 7 * 86_400_000) / 1000));
      expect(await world.base.ledger.get(edgeKey('a', 'index'))).toBeUndefined();
    });

    it('a task whose dependents could not be notified does not expire', async () => {
      let broken = true;
      const stubborn = new World(make, {
        ...options,
        wrap: (ledger) => ({
          ...ledger,
          transact: (writes, transaction) => {
            if (broken && writes.some((write) => write.kind === 'delete'))
              throw new Error('The edge cannot be written.');
            return ledger.transact(writes, transaction);
          },
        }),
      });
      await stubborn.admit('a');
      await stubborn.admit('index', { ...index, dependsOn: ['a'] });
      await stubborn.finish(await stubborn.begin('a'));
      await expect(stubborn.handleChanges()).rejects.toThrow('The edge cannot be written.');
      expect((await stubborn.base.ledger.get(taskKey('a')))?.attributes.removeAfter).toBeUndefined();
      broken = false;
      await stubborn.clock.advance(30 * 24 * 60 * MINUTE);
      await stubborn.handleChanges();
      for (let tries = 0; tries < 9; tries += 1) await stubborn.lifecycle.recover();
      expect(await stubborn.state('index')).toBe('queued');
      stubborn.close();
    });

    it('finished history expires, and its removal is no event', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'), { compaction: compaction({ fragmentsAdded: 0 }) });
      await world.handleChanges();
      await world.clock.advance(8 * 86_400_000);
      world.queue.clear();
      await world.handleChanges();
      expect(await world.lifecycle.getTask('a')).toBeUndefined();
      expect(world.queue.sent).toEqual([]);
      await world.admit('b');
      expect((await world.begin('b')).token).toBe(2);
    });

    it('a removal by time is not acted on, even when the item is there again', async () => {
      await world.admit('a');
      const key = taskKey('a');
      await world.lifecycle.onRecord({ key, change: 'remove', expired: true });
      expect(world.queue.sent).toEqual([]);
    });

    it('a compaction that added fragments is followed by one index run that depends on it', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'));
      await world.handleChanges();
      const task = await world.lifecycle.getTask('index-after-a');
      expect(task).toMatchObject({ kind: 'IndexId', target: TABLE, state: 'queued', dependsOn: ['a'] });
      await world.finish(await world.begin('index-after-a'));
      await world.handleChanges();
      expect(await world.lifecycle.openTasks(TABLE)).toEqual([]);
    });

    it('a compaction of a table without a usable key is followed by no index run, whichever record comes', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'), { compaction: compaction({ indexable: false }) });
      await world.handleChanges();
      await world.lifecycle.recover();
      await world.handleChanges();
      expect(await world.lifecycle.getTask('index-after-a')).toBeUndefined();
    });

    it('a compaction that added nothing is followed by nothing, and so is every one with INDEX_AFTER_COMPACTION off', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'), { compaction: compaction({ fragmentsAdded: 0 }) });
      await world.handleChanges();
      expect(await world.lifecycle.getTask('index-after-a')).toBeUndefined();
      const off = new World(make, { ...options, settings: { indexAfterCompaction: false } });
      await off.admit('a');
      await off.finish(await off.begin('a'));
      await off.handleChanges();
      expect(await off.lifecycle.getTask('index-after-a')).toBeUndefined();
      off.close();
    });

    it('five quick compactions leave at most one index run behind a running one, and it comes after the last', async () => {
      await world.admit('c1');
      await world.finish(await world.begin('c1'));
      await world.handleChanges();
      const running = await world.begin('index-after-c1');
      await world.lifecycle.settle(running, {
        end: 'released',
        error: { code: 'SHUTDOWN', message: 'stopped', disposition: 'contention' },
      });
      for (const id of ['c2', 'c3', 'c4', 'c5']) {
        await world.clock.advance(31_000);
        await world.admit(id);
        await world.finish(await world.begin(id));
        await world.handleChanges();
      }
      const open = await world.lifecycle.openTasks(TABLE);
      expect(open).toMatchObject([{ id: 'index-after-c1', kind: 'IndexId' }]);
      expect(await world.lifecycle.getTask('index-after-c5')).toMatchObject({ id: 'index-after-c1' });
    });

    it('compactions that end while an index run is on its way gather behind it in one next run', async () => {
      await world.admit('index', index);
      await world.begin('index');
      for (const id of ['c1', 'c2', 'c3']) {
        await world.admit(id, { target: TABLE });
        await world.lifecycle.admit({ taskId: `index-after-${id}`, kind: 'IndexId', target: TABLE });
      }
      const open = (await world.lifecycle.openTasks(TABLE)).filter((task) => task.kind === 'IndexId');
      expect(open.map((task) => task.state).sort()).toEqual(['queued', 'running']);
    });

    it('a released lease wake-ups every runnable kind of that table, at most three', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.admit('merge', { kind: 'MergeWal' });
      await world.admit('index', index);
      await world.admit('waits', { dependsOn: ['merge'] });
      await world.admit('elsewhere', { target: '/data/db/y.lance' });
      await world.handleChanges();
      world.queue.clear();
      await world.finish(claim, { compaction: compaction({ fragmentsAdded: 0 }) });
      await world.handleChanges();
      expect(new Set(world.queue.sent.map((message) => message.taskId))).toEqual(new Set(['merge', 'index']));
    });

    it('a released lease wake-ups the kind that ran last when its turn comes', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.admit('b');
      await world.admit('merge', { kind: 'MergeWal' });
      await world.handleChanges();
      world.queue.clear();
      await world.finish(claim, { compaction: compaction({ fragmentsAdded: 0 }) });
      await world.handleChanges();
      expect(new Set(world.queue.wakeUpsOf('b').map((wake) => wake.delayMs))).toEqual(new Set([30_000]));
      expect(new Set(world.queue.wakeUpsOf('merge').map((wake) => wake.delayMs))).toEqual(new Set([0]));
    });

    it('a lease that was taken again meanwhile wake-ups nobody', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'), { compaction: compaction({ fragmentsAdded: 0 }) });
      const late = await records();
      await world.admit('merge', { kind: 'MergeWal' });
      await world.begin('merge');
      await world.admit('b');
      world.queue.clear();
      for (const record of late) await world.lifecycle.onRecord(record);
      expect(world.queue.sent).toEqual([]);
    });
  });
}
