import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MakeLedger, MINUTE, TABLE, World, type WorldOptions } from './ledger-world.ts';

export function describePause(make: MakeLedger, options: WorldOptions): void {
  describe('pause and resume', () => {
    let world: World;

    beforeEach(() => {
      world = new World(make, options);
    });
    afterEach(() => world.close());

    const pause = (scope: string) =>
      world.lifecycle.pause({ scope, by: 'ana', reason: 'a restore', since: world.clock.now() });

    it.each([
      ['everything', '*'],
      ['a root', '/data'],
      ['a folder below it', '/data/db'],
      ['the table itself', TABLE],
    ])('with a pause of %s nothing new begins, and the claim says who paused it and why', async (_what, scope) => {
      await world.admit('a');
      await pause(scope);
      expect(await world.claim('a')).toEqual({ outcome: 'paused', reason: 'ana paused it: a restore' });
      expect(await world.state('a')).toBe('queued');
    });

    it.each(['/data/d', '/data/db/x', '/data/db/y.lance', '/elsewhere'])(
      'a pause of %s says nothing about a table that it does not hold',
      async (scope) => {
        await world.admit('a');
        await pause(scope);
        await world.begin('a');
      },
    );

    it('what runs goes on to its end; a pause is not passed by force', async () => {
      await world.admit('runs');
      const claim = await world.begin('runs');
      await pause('*');
      await world.lifecycle.renew(claim);
      await world.finish(claim);
      expect(await world.state('runs')).toBe('done');
      await world.admit('later', { force: true });
      expect(await world.claim('later')).toMatchObject({ outcome: 'paused' });
    });

    it('what waited begins within two minutes of the resume, however far its next wake-up was', async () => {
      await world.admit('a');
      for (let hour = 0; hour < 12; hour += 1) {
        await world.lifecycle.recover();
        await world.clock.advance(60 * MINUTE);
      }
      await pause('/data');
      // The message that came meanwhile is used up.
      expect(await world.claim('a')).toMatchObject({ outcome: 'paused' });
      await world.clock.advance(MINUTE);
      world.queue.clear();
      for (let minute = 0; minute < 5; minute += 1) {
        await world.lifecycle.recover();
        await world.clock.advance(MINUTE);
      }
      expect(world.queue.wakeUpsOf('a')).toEqual([]);
      await world.lifecycle.resume('/data');
      for (let minute = 0; minute < 2; minute += 1) {
        await world.clock.advance(MINUTE);
        await world.lifecycle.recover();
      }
      expect(world.queue.wakeUpsOf('a').length).toBeGreaterThan(0);
      await world.begin('a');
    });

    it('two pauses are two: taking back one leaves the other', async () => {
      await world.admit('a');
      await pause('*');
      await pause(TABLE);
      await world.lifecycle.resume('*');
      expect((await world.lifecycle.pauses()).map(({ scope, by, reason }) => [scope, by, reason])).toEqual([
        [TABLE, 'ana', 'a restore'],
      ]);
      expect(await world.claim('a')).toMatchObject({ outcome: 'paused' });
      await world.lifecycle.resume(TABLE);
      await world.begin('a');
    });

    it('a pause that is not there is not taken back', async () => {
      expect(await world.lifecycle.resume('/data')).toBe(false);
    });

    it('a holder that died on a paused table is ended all the same', async () => {
      await world.admit('a');
      await world.begin('a');
      await pause('*');
      await world.clock.advance(4 * MINUTE);
      expect(await world.claim('a')).toMatchObject({ outcome: 'paused' });
      expect(await world.lifecycle.getTask('a')).toMatchObject({ state: 'queued', error: { code: 'HOLDER_LOST' } });
    });
  });
}
