import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/tasks/ports.ts';
import { compaction, type MakeLedger, TABLE, World, type WorldOptions } from './ledger-world.ts';

export function describeAdmit(make: MakeLedger, options: WorldOptions): void {
  describe('admit', () => {
    let world: World;
    /** Runs once before the next transaction: what others write between a read and a write. */
    let between: (() => Promise<unknown>) | undefined;

    beforeEach(() => {
      between = undefined;
      world = new World(make, { ...options, wrap: (ledger) => interposed(ledger) });
    });
    afterEach(() => world.close());

    function interposed(ledger: Ledger): Ledger {
      return {
        ...ledger,
        async transact(writes, transaction) {
          const now = between;
          between = undefined;
          await now?.();
          return ledger.transact(writes, transaction);
        },
      };
    }

    it('a first request makes a queued task that is the next of its kind', async () => {
      const { task } = await world.admit('a', { reason: 'small fragments' });
      expect(task).toMatchObject({ id: 'a', kind: 'Compact', target: TABLE, state: 'queued', attempts: 0, rank: 0 });
      expect(await world.lifecycle.openTasks(TABLE)).toMatchObject([{ id: 'a', reasons: ['small fragments'] }]);
    });

    it('a message repeated after its task ended runs nothing', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'));
      expect(await world.admit('a')).toMatchObject({ taskId: 'a', joined: false, task: { state: 'done' } });
      expect(await world.lifecycle.openTasks(TABLE)).toEqual([]);
    });

    it('a request that joined is answered by its alias after the joined task ended', async () => {
      await world.admit('a');
      expect(await world.admit('b', { reason: 'again' })).toMatchObject({ taskId: 'a', joined: true });
      await world.finish(await world.begin('a'));
      expect(await world.admit('b')).toMatchObject({ taskId: 'a', task: { state: 'done' } });
      expect(await world.lifecycle.openTasks(TABLE)).toEqual([]);
      expect(await world.lifecycle.getTask('b')).toMatchObject({ id: 'a' });
    });

    it('a request that joined is remembered as long as its task is, however long that one was open', async () => {
      const hour = 3_600_000;
      await world.admit('a');
      await world.admit('b');
      await world.fail(await world.begin('a'), 'contention');
      await world.clock.advance(47 * hour);
      await world.finish(await world.begin('a'));
      await world.handleChanges();
      // An hour before the history of a task that ended 47 hours after the request is over.
      await world.clock.advance((7 * 24 - 1) * hour);
      await world.handleChanges();
      expect(await world.admit('b')).toMatchObject({ taskId: 'a', task: { state: 'done' } });
    });

    it('an id that belongs to another kind or target is refused', async () => {
      await world.admit('a');
      await world.admit('b');
      await expect(world.admit('a', { kind: 'IndexId' })).rejects.toMatchObject({ code: 'TASK_ID_MISMATCH' });
      await expect(world.admit('b', { target: '/data/db/y.lance' })).rejects.toMatchObject({
        code: 'TASK_ID_MISMATCH',
      });
    });

    it('a dependency that ends between the reading and the writing leaves no edge that waits for ever', async () => {
      await world.admit('compaction');
      const claim = await world.begin('compaction');
      between = async () => {
        between = undefined;
        await world.finish(claim, { compaction: compaction({ fragmentsAdded: 0 }) });
        await world.handleChanges();
      };
      await world.admit('index', { kind: 'IndexId', dependsOn: ['compaction'] });
      await world.handleChanges();
      expect(await world.state('index')).toBe('queued');
    });

    it('a request waits for the pendingDependencies dependencies and not for the done ones', async () => {
      await world.admit('done');
      await world.finish(await world.begin('done'), { compaction: compaction({ fragmentsAdded: 0 }) });
      await world.admit('pendingDependencies');
      const { task } = await world.admit('index', { kind: 'IndexId', dependsOn: ['done', 'pendingDependencies'] });
      expect(task).toMatchObject({
        state: 'waiting',
        pendingDependencies: ['pendingDependencies'],
        dependsOn: ['done', 'pendingDependencies'],
        rank: 1,
      });
      expect((await world.admit('other', { kind: 'MergeWal', dependsOn: ['done'] })).task.state).toBe('queued');
    });

    it('a failed dependency fails the request, and an unknown one is named', async () => {
      await world.admit('broken');
      await world.fail(await world.begin('broken'), 'permanent');
      const request = { kind: 'IndexId', dependsOn: ['broken'] } as const;
      await expect(world.admit('a', request)).rejects.toMatchObject({
        code: 'DEPENDENCY_FAILED',
        disposition: 'permanent',
      });
      await expect(world.admit('b', { dependsOn: ['nobody'] })).rejects.toMatchObject({
        code: 'DEPENDENCY_UNKNOWN',
        disposition: 'contention',
        message: expect.stringContaining('nobody'),
      });
      expect(await world.lifecycle.getTask('a')).toBeUndefined();
    });

    it('a dependency may be named by a request that joined it', async () => {
      await world.admit('a');
      await world.admit('alias-of-a');
      const { task } = await world.admit('index', { kind: 'IndexId', dependsOn: ['alias-of-a', 'a'] });
      expect(task).toMatchObject({ state: 'waiting', pendingDependencies: ['a'] });
    });

    it('two tasks cannot be made to wait for each other', async () => {
      await world.admit('compaction');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['compaction'] });
      await expect(world.admit('more', { dependsOn: ['index'] })).rejects.toMatchObject({ code: 'DEPENDENCY_CYCLE' });
      await expect(world.admit('self', { dependsOn: ['self'] })).rejects.toMatchObject({ code: 'DEPENDENCY_CYCLE' });
      await expect(world.admit('joiner', { dependsOn: ['compaction'] })).rejects.toMatchObject({
        code: 'DEPENDENCY_CYCLE',
      });
      expect(await world.state('compaction')).toBe('queued');
    });

    it('a task that nothing depends on may be joined with a dependency of any rank', async () => {
      await world.admit('index', { kind: 'IndexId' });
      await world.admit('compaction');
      const { task } = await world.admit('after', { kind: 'IndexId', dependsOn: ['compaction'] });
      expect(task).toMatchObject({ id: 'index', state: 'waiting', pendingDependencies: ['compaction'] });
      expect(await world.lifecycle.getTask('index')).toMatchObject({ rank: 1 });
    });

    it('a rank raised while somebody takes it as a dependency is read again', async () => {
      await world.admit('index', { kind: 'IndexId' });
      await world.admit('compaction');
      between = () => world.admit('merge', { kind: 'MergeWal', dependsOn: ['index'] });
      const joined = world.admit('after', { kind: 'IndexId', dependsOn: ['compaction'] });
      await expect(joined).rejects.toMatchObject({ code: 'DEPENDENCY_CYCLE' });
    });

    it('21 dependencies are refused and 20 are taken', async () => {
      const ids = Array.from({ length: 21 }, (_, index) => `dependency-${index}`);
      for (const [index, id] of ids.entries()) await world.admit(id, { target: `/data/db/${index}.lance` });
      await expect(world.admit('a', { kind: 'IndexId', dependsOn: ids })).rejects.toMatchObject({
        code: 'DEPENDENCIES_TOO_MANY',
      });
      const { task } = await world.admit('a', { kind: 'IndexId', dependsOn: ids.slice(1) });
      expect(task.pendingDependencies).toHaveLength(20);
    });

    it('requests join the next task, also while another runs, and never the running one', async () => {
      await world.admit('a');
      await world.begin('a');
      expect(await world.admit('b')).toMatchObject({ taskId: 'b', joined: false });
      expect(await world.admit('c', { reason: 'more' })).toMatchObject({ taskId: 'b', joined: true });
      expect((await world.lifecycle.openTasks(TABLE)).map((task) => task.id).sort()).toEqual(['a', 'b']);
    });

    it('a next that begins between the reading and the writing is not joined', async () => {
      await world.admit('a');
      between = () => world.begin('a');
      expect(await world.admit('b', { reason: 'later' })).toMatchObject({ taskId: 'b', joined: false });
    });

    it('a next that begins and is put back between the reading and the writing is not made to wait', async () => {
      await world.admit('a');
      await world.admit('index', { kind: 'IndexId', target: '/data/db/y.lance' });
      between = async () => {
        await world.fail(await world.begin('a'), 'contention');
      };
      expect(await world.admit('b', { dependsOn: ['index'] })).toMatchObject({ taskId: 'b', joined: false });
      expect(await world.state('a')).toBe('queued');
    });

    it('a next that is released between the reading and the writing waits for what the join brings', async () => {
      await world.admit('compaction');
      const claim = await world.begin('compaction');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['compaction'] });
      await world.admit('merge', { kind: 'MergeWal', target: '/data/db/y.lance' });
      between = async () => {
        await world.finish(claim, { compaction: compaction({ fragmentsAdded: 0 }) });
        await world.handleChanges();
      };
      await world.admit('more', { kind: 'IndexId', dependsOn: ['merge'] });
      expect(await world.lifecycle.getTask('index')).toMatchObject({
        state: 'waiting',
        pendingDependencies: ['merge'],
      });
    });

    it('a next that fails between the reading and the writing is not joined', async () => {
      await world.admit('compaction');
      const claim = await world.begin('compaction');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['compaction'] });
      between = async () => {
        await world.fail(claim, 'permanent');
        await world.handleChanges();
      };
      expect(await world.admit('b', { kind: 'IndexId' })).toMatchObject({ taskId: 'b', task: { state: 'queued' } });
    });

    it('a request joins a queued task that was tried before, unless it brings pendingDependencies dependencies', async () => {
      await world.admit('a');
      await world.fail(await world.begin('a'), 'contention');
      expect(await world.admit('b')).toMatchObject({ taskId: 'a', joined: true });
      await world.admit('index', { kind: 'IndexId', target: '/data/db/y.lance' });
      expect(await world.admit('c', { dependsOn: ['index'] })).toMatchObject({ taskId: 'c', joined: false });
      expect(await world.state('a')).toBe('queued');
      expect(await world.state('c')).toBe('waiting');
    });

    it('a join adds its reason, its dependencies and its force', async () => {
      await world.admit('a', { kind: 'IndexId', reason: 'one' });
      await world.admit('compaction');
      await world.admit('b', { kind: 'IndexId', reason: 'two', force: true, dependsOn: ['compaction'] });
      expect(await world.lifecycle.getTask('a')).toMatchObject({
        reasons: ['one', 'two'],
        reasonCount: 2,
        force: true,
        state: 'waiting',
        pendingDependencies: ['compaction'],
      });
    });

    it('of 25 reasons 20 are kept and all are counted', async () => {
      for (let index = 0; index < 25; index += 1) await world.admit(`a${index}`, { reason: `reason ${index}` });
      const task = await world.lifecycle.getTask('a0');
      expect(task?.reasons).toHaveLength(20);
      expect(task?.reasonCount).toBe(25);
    });

    it('a join that changes nothing writes nothing', async () => {
      const request = { kind: 'Compact', target: TABLE, reason: 'small fragments' } as const;
      await world.lifecycle.admit(request);
      await world.handleChanges();
      await world.lifecycle.admit(request);
      expect((await world.base.feed.read(10)).records).toEqual([]);
    });

    it('a forced request also forces the queued task that it has to wait behind', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.admit('b');
      await world.fail(claim);
      expect((await world.claim('a')).outcome).toBe('cooling');
      expect(await world.admit('c', { force: true })).toMatchObject({ taskId: 'b' });
      await world.begin('a');
    });
  });
}
