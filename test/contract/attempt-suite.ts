import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BODY, Desk } from './desk.ts';
import { type MakeLedger, MINUTE, TABLE, World, type WorldOptions, workResult } from './ledger-world.ts';
import { settleTurns } from './test-clock.ts';

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

export function describeAttempt(make: MakeLedger, options: WorldOptions): void {
  describe('attempt', () => {
    /** A hostile ledger has its own ideas of what is reached and in which order. */
    const calm = options.hostility === undefined;
    let desk: Desk;
    let world: World;

    beforeEach(() => {
      desk = new Desk(make, options);
      world = desk.world;
    });
    afterEach(() => {
      expect(world.clock.pendingTimers).toBe(0);
      world.close();
    });

    it('the lease is renewed every 60 s while the work runs', async () => {
      const work = desk.held();
      const delivered = desk.deliver(BODY);
      await desk.untilRunning();
      for (let minute = 0; minute < 10; minute += 1) {
        await world.clock.advance(MINUTE);
        for (let turns = 0; turns < 20; turns += 1) await settleTurns();
      }
      expect(desk.runs[0]?.signal.aborted).toBe(false);
      expect((await world.lifecycle.leaseOf(TABLE))?.expiresAt).toBeGreaterThan(world.clock.now() + 2 * MINUTE - 1);
      work.release();
      expect(await delivered).toBe('acknowledge');
    });

    it('a fence writes the renewal, and is closed for a holder that was paused past its lease', async () => {
      let commits = 0;
      desk.perform = async (context) => {
        await context.fence();
        await context.native(async () => {
          commits += 1;
        });
        world.clock.pauseProcess(211_000);
        await world.lifecycle.recover();
        for (let tries = 0; tries < 12; tries += 1) await world.lifecycle.recover();
        await context.fence();
        await context.native(async () => {
          commits += 1;
        });
        return workResult('Compact');
      };
      expect(await desk.deliver(BODY, { messageId: 'abc' })).toBe('acknowledge');
      expect(commits).toBe(1);
      expect(desk.exits).toEqual([]);
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({
        state: 'queued',
        error: { code: 'HOLDER_LOST' },
      });
    });

    it('a fence is closed for a holder whose lease was ended, though its own clock has seen no time pass', async () => {
      let fenced = 0;
      desk.perform = async (context) => {
        await context.fence();
        fenced += 1;
        world.clock.jump(300_000);
        for (let tries = 0; tries < 12; tries += 1) await world.lifecycle.recover();
        await context.fence();
        fenced += 1;
        return workResult('Compact');
      };
      await desk.deliver(BODY, { messageId: 'abc' });
      expect(fenced).toBe(1);
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({ error: { code: 'HOLDER_LOST' } });
    });

    it('what an attempt left in the table may be taken back after the deadline, though nothing new may be committed', async () => {
      const outcomes: unknown[] = [];
      desk.perform = async (context) => {
        await world.clock.advance(80_000);
        for (const how of [{}, { whileStopping: true }]) outcomes.push(await context.fence(how).catch(codeOf));
        throw context.signal.reason;
      };
      await desk.deliver(BODY, {}, { remainingMs: () => 100_000 });
      expect(outcomes).toEqual(['DEADLINE', undefined]);
    });

    it('under a lost lease not even that is taken back', async () => {
      const outcomes: unknown[] = [];
      desk.perform = async (context) => {
        world.clock.jump(300_000);
        for (let tries = 0; tries < 12; tries += 1) await world.lifecycle.recover();
        for (let tries = 0; tries < 2; tries += 1) {
          outcomes.push(await context.fence({ whileStopping: true }).catch(codeOf));
        }
        throw context.signal.reason;
      };
      await desk.deliver(BODY);
      expect(outcomes).toEqual(['LEASE_LOST', 'LEASE_LOST']);
    });

    it('a fence gives the lease its whole time again', async () => {
      desk.perform = async (context) => {
        world.clock.pauseProcess(50_000);
        await context.fence();
        expect((await world.lifecycle.leaseOf(TABLE))?.expiresAt).toBe(world.clock.now() + 180_000);
        return workResult('Compact');
      };
      await desk.deliver(BODY, { messageId: 'abc' });
      expect(await world.state('message-abc')).toBe('done');
    });

    it('no native call starts when the lease was not renewed in time, though nobody has taken it', async () => {
      let commits = 0;
      desk.perform = async (context) => {
        world.clock.pauseProcess(151_000);
        await context.native(async () => {
          commits += 1;
        });
        return workResult('Compact');
      };
      await desk.deliver(BODY, { messageId: 'abc' });
      expect(commits).toBe(0);
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({
        error: { code: 'LEASE_LOST' },
        failures: 0,
      });
    });

    it('a renewal counts from before it was sent, not from its answer', async () => {
      let slow = false;
      const paused = new World(make, {
        wrap: (ledger) => ({
          ...ledger,
          async transact(writes, transaction) {
            const result = await ledger.transact(writes, transaction);
            if (slow) paused.clock.pauseProcess(151_000);
            return result;
          },
        }),
      });
      await paused.admit('a');
      const claim = await paused.begin('a');
      slow = true;
      expect(await paused.lifecycle.renew(claim)).toBeLessThan(paused.clock.monotonic() + 30_000);
      paused.close();
    });

    it('a process that loses its lease inside a native call exits hard', async () => {
      const work = desk.held();
      const inner = desk.perform;
      desk.perform = (context) => context.native(() => inner(context));
      const delivered = desk.deliver(BODY);
      await desk.untilRunning();
      world.clock.pauseProcess(211_000);
      for (let tries = 0; tries < 12; tries += 1) await world.lifecycle.recover();
      await world.clock.advance(1);
      for (let turns = 0; turns < 50 && desk.exits.length === 0; turns += 1) await settleTurns();
      expect(desk.exits).toMatchObject([{ code: 'LEASE_LOST' }]);
      work.release();
      await delivered;
    });

    if (calm) {
      it('a process that cannot renew its lease exits hard 30 s before its end when a native call is in flight', async () => {
        const work = desk.held();
        const inner = desk.perform;
        desk.perform = (context) => context.native(() => inner(context));
        const delivered = desk.deliver(BODY);
        await desk.untilRunning();
        desk.unreachable = true;
        await world.clock.advance(150_000 - 1);
        expect(desk.exits).toEqual([]);
        await world.clock.advance(1);
        expect(desk.exits).toMatchObject([{ code: 'LEASE_LOST' }]);
        desk.unreachable = false;
        work.release();
        await delivered;
      });
    }

    it('within 30 s of the deadline a native call in flight means a hard exit', async () => {
      const work = desk.held();
      const inner = desk.perform;
      desk.perform = (context) => context.native(() => inner(context));
      const delivered = desk.deliver(BODY, {}, { remainingMs: () => 100_000 });
      const context = await desk.untilRunning();
      expect(context.remainingMs()).toBe(70_000);
      await world.clock.advance(69_999);
      expect(desk.exits).toEqual([]);
      await world.clock.advance(1);
      expect(desk.exits).toMatchObject([{ code: 'DEADLINE' }]);
      work.release();
      await delivered;
    });

    it('work that runs out of time without progress is a failure DEADLINE', async () => {
      desk.held();
      const delivered = desk.deliver(BODY, { messageId: 'abc' }, { remainingMs: () => 100_000 });
      const context = await desk.untilRunning();
      desk.perform = async () => workResult('Compact');
      await world.clock.advance(70_000);
      expect(context.signal.reason).toMatchObject({ code: 'DEADLINE' });
      expect(await delivered).toBe('acknowledge');
      expect(desk.exits).toEqual([]);
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({ failures: 1, error: { code: 'DEADLINE' } });
    });

    it('a shutdown stops the work, frees the lease and queues the task at once, uncounted', async () => {
      desk.held();
      const stop = new AbortController();
      const delivered = desk.deliver(BODY, { messageId: 'abc' }, { signal: stop.signal });
      await desk.untilRunning();
      stop.abort();
      expect(await delivered).toBe('acknowledge');
      const task = await world.lifecycle.getTask('message-abc');
      expect(task).toMatchObject({ state: 'queued', failures: 0, error: { code: 'SHUTDOWN' } });
      expect(task?.notBefore).toBeUndefined();
      expect(await world.lifecycle.leaseOf(TABLE)).toBeUndefined();
    });

    it('progress of the work reaches whoever watches', async () => {
      desk.perform = async (context) => {
        context.progress('half of it');
        return workResult('Compact');
      };
      await desk.deliver(BODY);
      expect(desk.events).toContainEqual(expect.objectContaining({ stage: 'progress', message: 'half of it' }));
    });
  });
}
