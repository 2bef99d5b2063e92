import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tablePk } from '../../src/tasks/items.ts';
import { compaction, type MakeLedger, MINUTE, TABLE, World, type WorldOptions, workResult } from './ledger-world.ts';

export function describeSettle(make: MakeLedger, options: WorldOptions): void {
  describe('settle', () => {
    let world: World;

    beforeEach(() => {
      world = new World(make, options);
    });
    afterEach(() => world.close());

    const metrics = async () =>
      (await world.base.ledger.query({ pk: tablePk(TABLE), skPrefix: 'COMPACTION#', limit: 100 })).items;
    const health = async () => (await world.lifecycle.health(TABLE)).Compact;

    /** Runs the task to a failure as soon as it may run; answers its waiting time. */
    async function failOnce(id: string): Promise<number> {
      const before = await world.lifecycle.getTask(id);
      if (before?.notBefore !== undefined) await world.clock.advance(before.notBefore - world.clock.now());
      await world.fail(await world.begin(id));
      const task = await world.lifecycle.getTask(id);
      return ((task?.notBefore ?? 0) - world.clock.now()) / 1_000;
    }

    it('a done task ends with its result, frees the lease and leaves nothing open', async () => {
      await world.admit('a');
      expect(await world.finish(await world.begin('a'))).toMatchObject({ state: 'done' });
      expect(await world.lifecycle.getTask('a')).toMatchObject({
        state: 'done',
        endedAt: world.clock.now(),
        result: { versionAfter: 2, compaction: { fragmentsAdded: 1 } },
      });
      expect(await world.lifecycle.leaseOf(TABLE)).toBeUndefined();
      expect(await world.lifecycle.openTasks(TABLE)).toEqual([]);
      expect((await health()).lastSuccess).toEqual({
        at: world.clock.now(),
        taskId: 'a',
        versionBefore: 1,
        versionAfter: 2,
        rewroteNothing: false,
      });
    });

    it('a settle whose answer was lost is adopted by its claim and written once', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.finish(claim);
      expect(await world.finish(claim)).toMatchObject({ state: 'done', adopted: true });
      await world.admit('b');
      const failing = await world.begin('b');
      await world.fail(failing);
      expect(await world.fail(failing)).toMatchObject({ state: 'queued', adopted: true });
      expect((await health()).streak).toBe(1);
    });

    it('contention waits 2, 2, 30 s, then twice as long up to 900 s, and is no failure', async () => {
      await world.admit('a');
      const waits: number[] = [];
      for (let count = 0; count < 9; count += 1) {
        const settled = await world.fail(await world.begin('a'), 'contention', 'COMMIT_CONFLICT');
        const until = (await world.lifecycle.getTask('a'))?.notBefore ?? 0;
        expect(settled.state).toBe('queued');
        waits.push((until - world.clock.now()) / 1_000);
        await world.clock.advance(until - world.clock.now());
      }
      expect(waits).toEqual([2, 2, 30, 60, 120, 240, 480, 900, 900]);
      expect(await health()).toMatchObject({ streak: 0 });
      expect(await world.lifecycle.getTask('a')).toMatchObject({ failures: 0, attempts: 9 });
    });

    it('failures wait 60 s and 120 s; from the third in a row the kind cools down, 600 s doubling to 6 h', async () => {
      await world.admit('a');
      const waits: number[] = [];
      for (let count = 0; count < 7; count += 1) waits.push(await failOnce('a'));
      await failOnce('a');
      expect(await world.state('a')).toBe('failed');
      await world.admit('b', { force: true });
      waits.push(await failOnce('b'));
      expect(waits).toEqual([60, 120, 600, 1_200, 2_400, 4_800, 9_600, 21_600]);
    });

    it('a fourth failure just after the cooldown cools down for 1,200 s, and a success resets', async () => {
      await world.admit('a');
      for (let count = 0; count < 3; count += 1) await failOnce('a');
      expect((await health()).cooldownUntil).toBe(world.clock.now() + 600_000);
      expect(await failOnce('a')).toBe(1_200);
      await world.clock.advance(1_200_000);
      await world.finish(await world.begin('a'));
      expect(await health()).toMatchObject({ streak: 0 });
      expect((await health()).cooldownUntil).toBeUndefined();
      await world.admit('b');
      expect(await failOnce('b')).toBe(60);
    });

    it('a cooldown holds back other tasks of the kind on that table, and no other kind or table', async () => {
      await world.admit('a');
      await failOnce('a');
      await failOnce('a');
      await world.clock.advance(2 * MINUTE);
      await world.fail(await world.begin('a'), 'permanent');
      await world.admit('b');
      expect(await world.claim('b')).toEqual({ outcome: 'cooling', until: world.clock.now() + 600_000 });
      await world.admit('index', { kind: 'IndexId' });
      await world.finish(await world.begin('index'));
      await world.admit('elsewhere', { target: '/data/db/y.lance' });
      await world.begin('elsewhere');
      await world.admit('forced', { force: true });
      await world.begin('b');
    });

    it('three holders that fail together count three', async () => {
      for (const id of ['a', 'b', 'c']) {
        await world.admit(id);
        await world.fail(await world.begin(id), 'permanent');
      }
      expect(await health()).toMatchObject({ streak: 3, cooldownUntil: world.clock.now() + 600_000 });
    });

    it('a failure that somebody else counts between the reading and the writing is not lost', async () => {
      let raced = false;
      const crowded = new World(make, {
        ...options,
        wrap: (ledger) => ({
          ...ledger,
          async transact(writes, transaction) {
            const settles = writes.some((write) => write.kind === 'update' && write.key.sk === 'HEALTH#Compact');
            if (settles && !raced) {
              raced = true;
              const key = { pk: tablePk(TABLE), sk: 'HEALTH#Compact' };
              await crowded.base.ledger.transact([{ kind: 'update', key, set: { streak: 2 }, when: [] }], {
                clientToken: 'another-holder',
              });
            }
            return ledger.transact(writes, transaction);
          },
        }),
      });
      await crowded.admit('a');
      await crowded.fail(await crowded.begin('a'));
      expect((await crowded.lifecycle.health(TABLE)).Compact).toMatchObject({
        streak: 3,
        cooldownUntil: crowded.clock.now() + 600_000,
      });
      crowded.close();
    });

    it('a permanent error ends the task at once, and the next request is a new task', async () => {
      await world.admit('a');
      expect(await world.fail(await world.begin('a'), 'permanent', 'MANIFEST_UNSUPPORTED')).toMatchObject({
        state: 'failed',
      });
      expect(await world.lifecycle.getTask('a')).toMatchObject({ error: { code: 'MANIFEST_UNSUPPORTED' } });
      expect(await world.admit('b')).toMatchObject({ taskId: 'b', joined: false });
    });

    it('the eighth counted failure ends the task, and its cooldown outlives it', async () => {
      await world.admit('a');
      for (let count = 0; count < 8; count += 1) await failOnce('a');
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'failed', failures: 8 });
      await world.admit('b');
      expect((await world.claim('b')).outcome).toBe('cooling');
    });

    it('a task that meets nothing but contention ends after 48 h', async () => {
      await world.admit('a');
      await world.fail(await world.begin('a'), 'contention');
      await world.clock.advance(48 * 60 * MINUTE - 1);
      expect(await world.fail(await world.begin('a'), 'contention')).toMatchObject({ state: 'queued' });
      await world.clock.advance(2_000);
      expect(await world.fail(await world.begin('a'), 'contention')).toMatchObject({ state: 'failed' });
      expect((await health()).streak).toBe(0);
    });

    it('a dependency that failed is no failure of the kind', async () => {
      await world.admit('a');
      await world.fail(await world.begin('a'), 'permanent', 'DEPENDENCY_FAILED');
      expect((await health()).streak).toBe(0);
    });

    it('an attempt stopped by a shutdown is queued again at once, and nothing is counted', async () => {
      await world.admit('a');
      const error = { code: 'SHUTDOWN', message: 'stopped', disposition: 'contention' } as const;
      expect(await world.lifecycle.settle(await world.begin('a'), { end: 'released', error })).toMatchObject({
        state: 'queued',
      });
      expect(await world.lifecycle.leaseOf(TABLE)).toBeUndefined();
      expect(await world.lifecycle.getTask('a')).toMatchObject({ failures: 0 });
      await world.fail(await world.begin('a'), 'contention');
      const task = await world.lifecycle.getTask('a');
      expect(task?.notBefore).toBe(world.clock.now() + 2_000);
    });

    it('metrics of a compaction exist when it is done, once, under the time its attempt began', async () => {
      await world.admit('a');
      const begun = world.clock.now();
      const claim = await world.begin('a');
      await world.clock.advance(MINUTE);
      await world.finish(claim);
      await world.finish(claim);
      const items = await metrics();
      expect(items).toHaveLength(1);
      expect(items[0]?.sk).toContain(String(begun));
      expect(JSON.parse(String(items[0]?.attributes.metrics))).toEqual(compaction());
    });

    it('no metrics exist for failed, retried and other work', async () => {
      await world.admit('a');
      await world.fail(await world.begin('a'));
      await world.admit('index', { kind: 'IndexId' });
      await world.finish(await world.begin('index'));
      expect(await metrics()).toEqual([]);
    });

    it('a compaction that brings no metrics does not become done', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      const { compaction: _none, ...result } = workResult('Compact');
      expect(await world.lifecycle.settle(claim, { end: 'done', result })).toMatchObject({ state: 'queued' });
      expect(await world.lifecycle.getTask('a')).toMatchObject({ error: { code: 'COMPACTION_METRICS_MISSING' } });
    });

    const rest = { partial: '8 of 20 generations', followUp: { kind: 'MergeWal', reason: '12 are left' } } as const;

    it('work out of time with progress is done, marked partial, and its follow-up is there in the same transaction', async () => {
      await world.admit('a', { kind: 'MergeWal' });
      await world.finish(await world.begin('a'), rest);
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'done', partial: '8 of 20 generations' });
      const open = await world.lifecycle.openTasks(TABLE);
      expect(open).toMatchObject([{ kind: 'MergeWal', state: 'queued', reasons: ['12 are left'], attempts: 0 }]);
      await world.begin(open[0]?.id ?? '');
    });

    it('a follow-up joins the next task if there is one', async () => {
      await world.admit('a', { kind: 'MergeWal' });
      const claim = await world.begin('a');
      await world.admit('b', { kind: 'MergeWal', reason: 'sweep' });
      await world.finish(claim, rest);
      expect(await world.lifecycle.openTasks(TABLE)).toMatchObject([{ id: 'b', reasons: ['sweep', '12 are left'] }]);
    });

    it('a follow-up of another kind is admitted beside the end, too', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'), { followUp: { kind: 'IndexId', reason: 'stale' } });
      expect(await world.lifecycle.openTasks(TABLE)).toMatchObject([{ kind: 'IndexId', reasons: ['stale'] }]);
    });
  });
}
