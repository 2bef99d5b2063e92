import { describe, expect, it } from 'vitest';
import { newTaskItem, readTask, taskKey } from '../../src/tasks/items.ts';
import type { Ledger, Write } from '../../src/tasks/ports.ts';
import type { Task } from '../../src/tasks/task.ts';
import { type MakeLedger, TABLE, World } from './ledger-world.ts';

interface Cost {
  calls: number;
  rows: number;
}

/** Counts calls of the port and the items they bring. */
function counting(ledger: Ledger, cost: Cost): Ledger {
  const count = <T>(rows: number, value: T): T => {
    cost.calls += 1;
    cost.rows += rows;
    return value;
  };
  return {
    get: async (key) => count(1, await ledger.get(key)),
    getMany: async (keys) => count(keys.length, await ledger.getMany(keys)),
    async query(query) {
      const page = await ledger.query(query);
      return count(page.items.length, page);
    },
    async queryIndex(query) {
      const items = await ledger.queryIndex(query);
      return count(items.length, items);
    },
    transact: async (writes, options) => count(writes.length, await ledger.transact(writes, options)),
  };
}

export function describeScale(make: MakeLedger): void {
  describe('scale', () => {
    function countedWorld(): { world: World; cost: Cost; measure: (call: () => Promise<unknown>) => Promise<Cost> } {
      const cost = { calls: 0, rows: 0 };
      const world = new World(make, { wrap: (ledger) => counting(ledger, cost) });
      const measure = async (call: () => Promise<unknown>): Promise<Cost> => {
        Object.assign(cost, { calls: 0, rows: 0 });
        await call();
        return { ...cost };
      };
      return { world, cost, measure };
    }

    /** Writes items straight into the ledger, 100 at a time. */
    async function seed(
      world: World,
      tasks: readonly Task[],
      change: (task: Task) => Record<string, unknown>,
    ): Promise<void> {
      for (let start = 0; start < tasks.length; start += 100) {
        const writes = tasks.slice(start, start + 100).map((task): Write => {
          const { attributes, ...key } = newTaskItem(task, task.createdAt);
          const kept = Object.entries({ ...attributes, ...change(task) }).filter(([, value]) => value !== undefined);
          return { kind: 'put', item: { ...key, attributes: Object.fromEntries(kept) as typeof attributes }, when: [] };
        });
        await world.base.ledger.transact(writes, { clientToken: `seed-${start}-${tasks[0]?.id}` });
      }
    }

    function taskOf(id: string, target: string, createdAt: number): Task {
      return {
        id,
        target,
        createdAt,
        kind: 'Compact',
        state: 'queued',
        reasons: [],
        reasonCount: 0,
        dependsOn: [],
        pendingDependencies: [],
        rank: 0,
        force: false,
        attempts: 0,
        failures: 0,
      };
    }

    it('with 5,000 queued and 500 running tasks an admission and a claim cost what they cost on an empty ledger', async () => {
      const { world, measure } = countedWorld();
      const admitted = await measure(() => world.admit('first', { target: '/data/db/first.lance' }));
      const claimed = await measure(() => world.begin('first'));
      const now = world.clock.now();
      const queued = Array.from({ length: 5_000 }, (_, n) => taskOf(`q${n}`, `/data/db/q${n}.lance`, now));
      await seed(world, queued, () => ({}));
      for (let n = 0; n < 500; n += 1) {
        await world.admit(`r${n}`, { target: `/data/db/r${n}.lance` });
        await world.begin(`r${n}`);
      }
      expect(await measure(() => world.admit('last', { target: '/data/db/last.lance' }))).toEqual(admitted);
      expect(await measure(() => world.begin('last'))).toEqual(claimed);
      expect(claimed.calls).toBe(3);
      world.close();
    });

    it('a page of 100,000 finished tasks costs the same at the beginning, in the middle and at the end', async () => {
      const { world, measure } = countedWorld();
      const now = world.clock.now();
      const tasks = Array.from({ length: 100_000 }, (_, n) =>
        taskOf(`t${n}`, n % 10 === 0 ? TABLE : '/data/db/y.lance', now + n),
      );
      await seed(world, tasks, (task) => ({
        state: 'done',
        endedAt: task.createdAt,
        removeAfter: Math.ceil(now / 1000) + 86_400 * 7,
        queuedShard: undefined,
        wakeAt: undefined,
      }));
      const page = async (after?: string) => {
        let next: string | null = null;
        let ids: string[] = [];
        const cost = await measure(async () => {
          const found = await world.lifecycle.listTasks({ limit: 50, ...(after ? { after } : {}) });
          ids = found.tasks.map((task) => task.id);
          next = found.next;
        });
        return { cost, ids, next };
      };
      const first = await page();
      expect(first.ids).toEqual(Array.from({ length: 50 }, (_, n) => `t${99_999 - n}`));
      expect(first.cost.calls).toBe(9);
      expect(first.cost.rows).toBeLessThanOrEqual(9 * 51);
      const second = await page(first.next ?? '');
      expect(second.ids[0]).toBe('t99949');
      const middle = await page(`${String(now + 50_000).padStart(15, '0')}#`);
      expect(middle.ids[0]).toBe('t49999');
      const last = await page(`${String(now + 30).padStart(15, '0')}#`);
      expect(last.ids).toHaveLength(30);
      expect(last.next).toBeNull();
      for (const { cost } of [second, middle, last]) {
        expect(cost.calls).toBe(9);
        expect(cost.rows).toBeLessThanOrEqual(first.cost.rows);
      }
      const ofTarget = await measure(async () => {
        const found = await world.lifecycle.listTasks({ target: TABLE, limit: 50 });
        expect(found.tasks[49]?.id).toBe('t99500');
      });
      expect(ofTarget).toEqual({ calls: 2, rows: 101 });
      world.close();
    });

    it('a history read page by page shows every task once, newest first', async () => {
      const { world } = countedWorld();
      for (let n = 0; n < 60; n += 1) {
        await world.admit(`t${n}`, { target: `/data/db/${n}.lance` });
        if (n % 3 === 0) await world.clock.advance(1);
      }
      const seen: Task[] = [];
      let after: string | undefined;
      do {
        const found = await world.lifecycle.listTasks({ limit: 7, ...(after === undefined ? {} : { after }) });
        seen.push(...found.tasks);
        after = found.next ?? undefined;
      } while (after !== undefined);
      expect(new Set(seen.map((task) => task.id)).size).toBe(60);
      expect(seen).toHaveLength(60);
      expect(seen.map((task) => task.createdAt)).toEqual(seen.map((task) => task.createdAt).toSorted((a, b) => b - a));
      const item = await world.base.ledger.get(taskKey('t0'));
      expect(item && readTask(item).task).toEqual(seen.find((task) => task.id === 't0'));
      world.close();
    });

    it('one poisoned table never delays the others', async () => {
      const { world } = countedWorld();
      await world.admit('poison');
      for (let count = 0; count < 3; count += 1) {
        await world.fail(await world.begin('poison'));
        await world.admit(`healthy-${count}`, { target: `/data/db/healthy-${count}.lance` });
        await world.finish(await world.begin(`healthy-${count}`), {});
        if (count < 2) await world.clock.advance(120_000);
      }
      expect(world.clock.now() - ((await world.lifecycle.getTask('poison'))?.createdAt ?? 0)).toBeLessThan(300_000);
      expect((await world.claim('poison')).outcome).toBe('cooling');
      world.close();
    });
  });
}
