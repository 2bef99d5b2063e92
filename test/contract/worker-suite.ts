import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UpkeepError } from '../../src/errors.ts';
import { BODY, Desk } from './desk.ts';
import {
  compaction,
  type MakeLedger,
  MINUTE,
  TABLE,
  type World,
  type WorldOptions,
  workResult,
} from './ledger-world.ts';

export function describeWorker(make: MakeLedger, options: WorldOptions): void {
  describe('worker', () => {
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

    it('a message with kind and target is admitted, run, settled and acknowledged', async () => {
      expect(await desk.deliver(BODY, { messageId: 'abc' })).toBe('acknowledge');
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({ state: 'done', attempts: 1 });
      expect(desk.events.map((event) => event.stage)).toEqual(['started', 'done']);
    });

    it('a message delivered again is the same task and runs once', async () => {
      await Promise.all([desk.deliver(BODY, { messageId: 'abc' }), desk.deliver(BODY, { messageId: 'abc' })]);
      expect(await desk.deliver(BODY, { messageId: 'abc', receiveCount: 2 })).toBe('acknowledge');
      expect(desk.runs).toHaveLength(1);
    });

    it('a claim whose answer was lost is adopted by its own delivery, and runs once', async () => {
      await world.admit('a');
      desk.loseAnswers = 1;
      expect(await desk.deliver(JSON.stringify({ kind: 'Compact', target: TABLE, taskId: 'a' }))).toBe('acknowledge');
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'done', attempts: 1 });
      expect(desk.runs).toHaveLength(1);
    });

    it('a settle whose answer was lost is not written twice, and the work does not run again', async () => {
      desk.perform = async (context) => {
        desk.loseAnswers = 1;
        return workResult(context.task.kind);
      };
      expect(await desk.deliver(BODY, { messageId: 'abc' })).toBe('acknowledge');
      expect(await world.state('message-abc')).toBe('done');
      expect(desk.runs).toHaveLength(1);
    });

    it('a delivery that meets a busy table is acknowledged and holds no lease', async () => {
      await world.admit('merge', { kind: 'MergeWal' });
      await world.begin('merge');
      expect(await desk.deliver(BODY)).toBe('acknowledge');
      expect(desk.runs).toEqual([]);
      expect(await world.lifecycle.leaseOf(TABLE)).toMatchObject({ taskId: 'merge' });
    });

    if (calm) {
      it('a ledger that cannot be reached leaves the message for later', async () => {
        desk.unreachable = true;
        expect(await desk.deliver(BODY)).toBe('retry-later');
        expect(desk.runs).toEqual([]);
      });
    }

    it('a body that is not understood goes to the dead letters with its reason, untouched', async () => {
      const body = '{"kind":"Compact","target":"/data/x.lance","colour":"blue"}';
      expect(await desk.deliver(body, { messageId: 'bad' })).toBe('acknowledge');
      expect(world.queue.dead).toEqual([
        {
          kind: 'Compact',
          body,
          messageId: 'bad',
          code: 'MESSAGE_FIELDS_UNKNOWN',
          message: expect.stringContaining('colour'),
        },
      ]);
    });

    it('a target outside the roots goes to the dead letters and makes no task', async () => {
      expect(await desk.deliver(JSON.stringify({ kind: 'Compact', target: '/elsewhere/x.lance', taskId: 'a' }))).toBe(
        'acknowledge',
      );
      expect(world.queue.dead).toMatchObject([{ code: 'TARGET_OUTSIDE_ROOTS' }]);
      expect(await world.lifecycle.getTask('a')).toBeUndefined();
    });

    it('a wake-up for a table of other roots is left to the process that maintains them', async () => {
      const target = '/elsewhere/x.lance';
      await world.admit('a', { target });
      expect(await desk.deliver(JSON.stringify({ kind: 'Compact', target, taskId: 'a' }))).toBe('acknowledge');
      expect(world.queue.dead).toEqual([]);
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'queued', attempts: 0 });
    });

    it('a task whose table is gone ends with that reason instead of being woken for ever', async () => {
      await world.admit('a');
      desk.missing.add(TABLE);
      expect(await desk.deliver(JSON.stringify({ kind: 'Compact', target: TABLE, taskId: 'a' }))).toBe('acknowledge');
      expect(desk.runs).toEqual([]);
      expect(world.queue.dead).toEqual([]);
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'failed', error: { code: 'TABLE_NOT_FOUND' } });
    });

    it('two names of one target are one target', async () => {
      await desk.deliver(JSON.stringify({ kind: 'Compact', target: '/data//db/x.lance', taskId: 'a' }));
      expect(await world.lifecycle.getTask('a')).toMatchObject({ target: TABLE });
    });

    it('a message with a failed dependency or the id of another task goes to the dead letters', async () => {
      await world.admit('broken');
      await world.fail(await world.begin('broken'), 'permanent');
      await desk.deliver(JSON.stringify({ kind: 'Compact', target: TABLE, dependsOn: ['broken'] }));
      await desk.deliver(JSON.stringify({ kind: 'Compact', target: '/data/db/y.lance', taskId: 'broken' }));
      expect(world.queue.dead.map((deadLetter) => deadLetter.code)).toEqual(['DEPENDENCY_FAILED', 'TASK_ID_MISMATCH']);
    });

    it('an unknown dependency is tried again until the message is 15 minutes old', async () => {
      const body = JSON.stringify({ kind: 'Compact', target: TABLE, dependsOn: ['nobody'] });
      const sentAt = world.clock.now();
      await world.clock.advance(15 * MINUTE - 1);
      expect(await desk.deliver(body, { sentAt })).toBe('retry-later');
      expect(world.queue.dead).toEqual([]);
      await world.clock.advance(1);
      expect(await desk.deliver(body, { sentAt })).toBe('acknowledge');
      expect(world.queue.dead).toMatchObject([{ code: 'DEPENDENCY_UNKNOWN', body }]);
    });

    it('a kind in a foreign queue is admitted and woken on its own queue, and never run here', async () => {
      expect(await desk.deliver(JSON.stringify({ kind: 'MergeWal', target: TABLE, taskId: 'a' }))).toBe('acknowledge');
      expect(desk.runs).toEqual([]);
      expect(await world.state('a')).toBe('queued');
      expect(world.queue.wakeUpsOf('a')).toMatchObject([{ kind: 'MergeWal' }]);
    });

    it('every wake-up is a message that a worker understands, also for the longest id', async () => {
      await world.admit('c'.repeat(200));
      await world.finish(await world.begin('c'.repeat(200)));
      await world.handleChanges();
      const wakeUps = world.queue.sent.filter((message) => message.kind === 'IndexId');
      expect(wakeUps.length).toBeGreaterThan(0);
      expect(await desk.deliver(wakeUps[0]?.body ?? '', { kind: 'IndexId' })).toBe('acknowledge');
      expect(desk.runs).toMatchObject([{ task: { kind: 'IndexId' } }]);
      expect(world.queue.dead).toEqual([]);
    });

    it('an error wrapped twice keeps its class', async () => {
      const conflict = new UpkeepError('Somebody committed.', { code: 'COMMIT_CONFLICT', disposition: 'contention' });
      desk.perform = async () => {
        throw new Error('outer', { cause: new Error('inner', { cause: conflict }) });
      };
      await desk.deliver(BODY, { messageId: 'abc' });
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({
        state: 'queued',
        failures: 0,
        error: { code: 'COMMIT_CONFLICT', disposition: 'contention' },
      });
    });

    it('anything else that the work throws is a failure UNEXPECTED', async () => {
      desk.perform = async () => {
        throw 'a string';
      };
      await desk.deliver(BODY, { messageId: 'abc' });
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({
        failures: 1,
        error: { code: 'UNEXPECTED' },
      });
    });

    it('a crash after the commit and before the settle is followed by one index run', async () => {
      let version = 1;
      desk.perform = async (context) => {
        const before = await context.baseVersion(version);
        if (version === 1) version = 2;
        const added = version - before;
        if (context.attempt === 1) throw new Error('The process died here.');
        return workResult('Compact', {
          versionBefore: before,
          versionAfter: version,
          compaction: compaction({ fragmentsAdded: added, versionBefore: before, versionAfter: version }),
        });
      };
      await desk.deliver(BODY, { messageId: 'abc' });
      await world.clock.advance(MINUTE);
      await desk.deliver(BODY, { messageId: 'abc' });
      await world.handleChanges();
      expect(await world.lifecycle.getTask('message-abc')).toMatchObject({ state: 'done', attempts: 2 });
      expect(await world.lifecycle.getTask('index-after-message-abc')).toMatchObject({ state: 'queued' });
      expect(await world.lifecycle.openTasks(TABLE)).toHaveLength(1);
    });
  });
}
