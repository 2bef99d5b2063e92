import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MakeLedger, TABLE, World, type WorldOptions } from './ledger-world.ts';

export function describeFacts(make: MakeLedger, options: WorldOptions): void {
  describe('facts', () => {
    /** A hostile ledger has its own ideas of what is reached and in which order. */
    const calm = options.hostility === undefined;
    let world: World;

    beforeEach(() => {
      world = new World(make, options);
    });
    afterEach(() => world.close());

    it('an older observation never takes the place of a newer one', async () => {
      await world.lifecycle.putFacts({ target: TABLE, observedAt: 200, facts: { rows: 2, key: null }, need: 1 });
      expect(await world.lifecycle.putFacts({ target: TABLE, observedAt: 100, facts: { rows: 1 }, need: 9 })).toBe(
        false,
      );
      expect(await world.lifecycle.getFacts(TABLE)).toEqual({
        target: TABLE,
        observedAt: 200,
        facts: { rows: 2, key: null },
      });
      await world.lifecycle.putFacts({ target: TABLE, observedAt: 300, facts: { rows: 3 }, need: 1 });
      expect((await world.lifecycle.getFacts(TABLE))?.facts).toEqual({ rows: 3 });
      expect(await world.lifecycle.getFacts('/data/db/nobody.lance')).toBeUndefined();
    });

    it('facts are forgotten only as long as nothing newer was observed', async () => {
      await world.lifecycle.putFacts({ target: TABLE, observedAt: 200, facts: { rows: 2 }, need: 1 });
      expect(await world.lifecycle.forgetFacts(TABLE, 100)).toBe(false);
      expect(await world.lifecycle.getFacts(TABLE)).toMatchObject({ observedAt: 200 });
      expect(await world.lifecycle.forgetFacts(TABLE, 200)).toBe(true);
      expect(await world.lifecycle.getFacts(TABLE)).toBeUndefined();
    });

    if (calm) {
      it('tables are listed by need, greatest first, page by page', async () => {
        for (let n = 0; n < 20; n += 1) {
          await world.lifecycle.putFacts({
            target: `/data/db/${n}.lance`,
            observedAt: 1,
            facts: { n },
            need: (n * 7) % 20,
          });
        }
        const seen: string[] = [];
        let after: string | undefined;
        do {
          const page = await world.lifecycle.listFacts({ limit: 6, ...(after === undefined ? {} : { after }) });
          seen.push(...page.facts.map((facts) => facts.target));
          after = page.next ?? undefined;
        } while (after !== undefined);
        const byNeed = Array.from({ length: 20 }, (_, n) => n).sort((a, b) => ((b * 7) % 20) - ((a * 7) % 20));
        expect(seen).toEqual(byNeed.map((n) => `/data/db/${n}.lance`));
      });
    }
  });
}
