import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { healthKey, leaseKey } from '../../src/tasks/items.ts';
import type { Ledger } from '../../src/tasks/ports.ts';
import { type MakeLedger, MINUTE, TABLE, World, type WorldOptions } from './ledger-world.ts';

const LEASE_AND_GRACE_MS = 210_000;

export function describeClaim(make: MakeLedger, options: WorldOptions): void {
  describe('claim and lease', () => {
    let world: World;
    const gone = new Set<string>();
    /** Runs once before the next transaction: what others write between a read and a write. */
    let between: (() => Promise<unknown>) | undefined;

    beforeEach(() => {
      gone.clear();
      between = undefined;
      world = new World(make, { ...options, holderGone: (holder) => gone.has(holder), wrap: interposed });
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

    it('a claim makes the task running and takes the lease for 180 s', async () => {
      await world.admit('a');
      const before = world.clock.monotonic();
      const claim = await world.begin('a');
      expect(claim).toMatchObject({ token: 1, task: { state: 'running', attempts: 1 } });
      expect(claim.leaseEndsAt).toBe(before + 180_000);
      expect(await world.lifecycle.leaseOf(TABLE)).toEqual({
        taskId: 'a',
        kind: 'Compact',
        token: 1,
        expiresAt: world.clock.now() + 180_000,
      });
    });

    it('one target has one holder: another kind is notified who holds it', async () => {
      await world.admit('a');
      await world.admit('b', { kind: 'MergeWal' });
      await world.begin('a');
      expect(await world.claim('b')).toEqual({ outcome: 'busy', reason: expect.stringContaining('a') });
      await world.admit('c', { target: '/data/db/y.lance' });
      await world.begin('c');
    });

    it('of many claims at once one gets the lease', async () => {
      await world.admit('a');
      await world.admit('b', { kind: 'MergeWal' });
      const outcomes = await Promise.all(['a', 'b', 'a', 'b', 'a'].map((id) => world.claim(id)));
      expect(outcomes.filter((outcome) => outcome.outcome === 'claimed')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome.outcome === 'busy')).toHaveLength(4);
    });

    it('finished, waiting and unknown tasks are said to be so', async () => {
      await world.admit('a');
      await world.admit('index', { kind: 'IndexId', dependsOn: ['a'] });
      expect((await world.claim('index')).outcome).toBe('waiting');
      await world.finish(await world.begin('a'));
      expect(await world.claim('a')).toEqual({ outcome: 'finished', state: 'done' });
      expect((await world.claim('nobody')).outcome).toBe('unknown');
    });

    it('the claim whose answer was lost is adopted by its claimId, and another delivery is busy', async () => {
      await world.admit('a');
      const first = await world.begin('a', 'delivery-1');
      expect((await world.claim('a', 'delivery-2')).outcome).toBe('busy');
      await world.clock.advance(MINUTE);
      const again = await world.claim('a', 'delivery-1');
      expect(again).toMatchObject({ outcome: 'claimed', adopted: true, claim: { token: first.token } });
      expect(await world.lifecycle.getTask('a')).toMatchObject({ attempts: 1 });
      expect((await world.lifecycle.leaseOf(TABLE))?.expiresAt).toBe(world.clock.now() + 180_000);
    });

    it('the token grows with every holder, also across releases, and the lease item is never deleted', async () => {
      const tokens: number[] = [];
      for (const id of ['a', 'b', 'c']) {
        await world.admit(id);
        const claim = await world.begin(id);
        tokens.push(claim.token);
        await world.finish(claim);
      }
      expect(tokens).toEqual([1, 2, 3]);
      const lease = await world.base.ledger.get(leaseKey(TABLE));
      expect(lease?.attributes).toMatchObject({ token: 3 });
      expect(lease?.attributes).not.toHaveProperty('removeAfter');
      expect(lease?.attributes).not.toHaveProperty('expiresAt');
    });

    it('a task that failed waits for its time, and a forced one does not', async () => {
      await world.admit('a');
      await world.fail(await world.begin('a'));
      expect(await world.claim('a')).toEqual({ outcome: 'cooling', until: world.clock.now() + MINUTE });
      await world.admit('now', { force: true });
      const claim = await world.begin('a');
      expect(claim.task.force).toBe(false);
      expect(await world.lifecycle.getTask('a')).toMatchObject({ force: false, attempts: 2 });
      await world.fail(claim);
      expect((await world.claim('a')).outcome).toBe('cooling');
    });

    it('the next of a kind waits until the current one has ended, whatever its waiting time', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.admit('b');
      await world.fail(claim);
      expect(await world.claim('b')).toMatchObject({ outcome: 'busy', reason: expect.stringContaining('a') });
      await world.clock.advance(MINUTE);
      await world.finish(await world.begin('a'));
      await world.begin('b');
    });

    it('a lease is not expired until 30 s after its end', async () => {
      await world.admit('a');
      await world.admit('b', { kind: 'MergeWal' });
      await world.begin('a');
      await world.clock.advance(LEASE_AND_GRACE_MS);
      expect((await world.claim('b')).outcome).toBe('busy');
      await world.clock.advance(1);
      await world.begin('b');
    });

    it('a holder that renews at the last moment keeps its lease', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.clock.advance(LEASE_AND_GRACE_MS + 1);
      between = () => world.lifecycle.renew(claim);
      expect((await world.claim('a')).outcome).toBe('busy');
      await world.finish(claim);
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'done', failures: 0 });
    });

    it('a task that gets a dependency between the reading and the writing of a claim is not begun', async () => {
      await world.admit('index', { kind: 'IndexId' });
      await world.admit('compaction');
      between = () => world.admit('more', { kind: 'IndexId', dependsOn: ['compaction'] });
      expect((await world.claim('index')).outcome).toBe('waiting');
    });

    it('a cooldown that begins between the reading and the writing of a claim is kept', async () => {
      await world.admit('a');
      const key = healthKey(TABLE, 'Compact');
      const set = { cooldownUntil: world.clock.now() + MINUTE };
      between = () =>
        world.base.ledger.transact([{ kind: 'update', key, set, when: [] }], { clientToken: 'another-process' });
      expect((await world.claim('a')).outcome).toBe('cooling');
    });

    it('whoever meets an expired lease ends that attempt first: queued again, counted, HOLDER_LOST, token + 1', async () => {
      await world.admit('a');
      await world.admit('b', { kind: 'MergeWal' });
      await world.begin('a');
      await world.clock.advance(LEASE_AND_GRACE_MS + 1);
      expect((await world.begin('b')).token).toBe(3);
      expect(await world.lifecycle.getTask('a')).toMatchObject({
        state: 'queued',
        failures: 1,
        error: { code: 'HOLDER_LOST' },
        notBefore: world.clock.now() + MINUTE,
      });
      expect((await world.lifecycle.health(TABLE)).Compact).toMatchObject({ streak: 1 });
    });

    it('a worker that dies on every attempt ends as failed after eight', async () => {
      await world.admit('a');
      for (let attempt = 1; attempt <= 8; attempt += 1) {
        await world.begin('a');
        await world.clock.advance(LEASE_AND_GRACE_MS + 1);
        await world.claim('a');
        await world.clock.advance(6 * 60 * MINUTE);
      }
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'failed', error: { code: 'HOLDER_LOST' } });
    });

    it('a lease whose process is gone counts as expired at once', async () => {
      await world.admit('a');
      await world.admit('b', { kind: 'MergeWal' });
      await world.begin('a', 'x', 'host|1|dead');
      expect((await world.claim('b')).outcome).toBe('busy');
      gone.add('host|1|dead');
      await world.begin('b');
      expect(await world.state('a')).toBe('queued');
    });

    it('a late writer finds its fence closed and its settle refused', async () => {
      await world.admit('a');
      const late = await world.begin('a');
      await world.clock.advance(LEASE_AND_GRACE_MS + 1);
      await world.claim('a');
      await world.clock.advance(MINUTE);
      const holder = await world.begin('a');
      await world.lifecycle.baseVersion(holder, 5);
      await expect(world.lifecycle.renew(late)).rejects.toMatchObject({
        code: 'LEASE_LOST',
        disposition: 'contention',
      });
      await expect(world.finish(late)).rejects.toMatchObject({ code: 'LEASE_LOST' });
      await expect(world.lifecycle.baseVersion(late, 9)).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'running', attempts: 2 });
      await world.lifecycle.renew(holder);
      await world.finish(holder);
      expect(await world.state('a')).toBe('done');
    });

    it('a late writer is refused also when nobody else has taken the lease since', async () => {
      await world.admit('a');
      const late = await world.begin('a');
      await world.clock.advance(LEASE_AND_GRACE_MS + 1);
      await world.claim('a');
      await expect(world.lifecycle.renew(late)).rejects.toMatchObject({ code: 'LEASE_LOST' });
      await expect(world.finish(late)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    });

    it('a renewal writes the lease alone and counts its time from before it was sent', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      await world.clock.advance(MINUTE);
      await world.handleChanges();
      const sentAt = world.clock.monotonic();
      expect(await world.lifecycle.renew(claim)).toBe(sentAt + 180_000);
      const { records } = await world.base.feed.read(10);
      expect(records.map((record) => record.key)).toEqual([leaseKey(TABLE)]);
      expect((await world.lifecycle.leaseOf(TABLE))?.expiresAt).toBe(world.clock.now() + 180_000);
    });

    it('a renewed lease outlives the time it was first taken for', async () => {
      await world.admit('a');
      const claim = await world.begin('a');
      for (let minute = 0; minute < 10; minute += 1) {
        await world.clock.advance(MINUTE);
        await world.lifecycle.renew(claim);
      }
      expect((await world.claim('a', 'other')).outcome).toBe('busy');
    });

    it('the kind that ran last lets another runnable kind go first, for 30 s', async () => {
      await world.admit('a');
      await world.finish(await world.begin('a'));
      await world.admit('b');
      await world.admit('merge', { kind: 'MergeWal' });
      expect(await world.claim('b')).toMatchObject({ outcome: 'busy', reason: expect.stringContaining('merge') });
      await world.clock.advance(30_000);
      await world.begin('b');
    });

    it('the kind that ran last goes on at once when no other kind can run', async () => {
      await world.admit('a');
      await world.admit('merge', { kind: 'MergeWal' });
      await world.fail(await world.begin('merge'));
      await world.clock.advance(40_000);
      await world.finish(await world.begin('a'));
      await world.admit('b');
      await world.begin('b');
    });

    it('the base version of the first attempt is the one every later attempt measures from', async () => {
      await world.admit('a');
      const first = await world.begin('a');
      expect(await world.lifecycle.baseVersion(first, 7)).toBe(7);
      expect(await world.lifecycle.baseVersion(first, 8)).toBe(7);
      await world.fail(first);
      await world.clock.advance(MINUTE);
      const second = await world.begin('a');
      expect(second.task.firstBaseVersion).toBe(7);
      expect(await world.lifecycle.baseVersion(second, 9)).toBe(7);
    });
  });
}
