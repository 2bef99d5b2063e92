import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../src/tasks/api.ts';
import { reader, readTask, type TaskRecord, tablePk, taskKey } from '../../src/tasks/items.ts';
import { hasEnded, type Task, type TaskKind } from '../../src/tasks/task.ts';
import { failedEnd, type MakeLedger, MINUTE, World, workResult } from './ledger-world.ts';

const TARGETS = ['/data/db/x.lance', '/data/db/y.lance'] as const;
const KINDS: readonly TaskKind[] = ['Compact', 'IndexId', 'MergeWal', 'OptimizeIndices', 'Prune'];
const RUNS = 250;
const TIME_LIMIT_MS = 12_000;

const step = fc.record({
  what: fc.constantFrom(
    'admit',
    'admit',
    'deliver',
    'deliver',
    'deliver',
    'end',
    'end',
    'die',
    'wait',
    'jump',
    'handleChanges',
    'recover',
  ),
  which: fc.nat(1_000),
  how: fc.nat(1_000),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** One random history: who was admitted, who holds what, and what was promised. */
class History {
  readonly world: World;
  readonly admitted = new Set<string>();
  readonly held: Claim[] = [];
  readonly lastToken = new Map<string, number>();
  /** Holders that were given up; they may still wake and try to settle. */
  readonly dead: Claim[] = [];
  #names = 0;

  constructor(make: MakeLedger, seed: number) {
    const hostility = { failed: 0.05, lost: 0.05, stale: 0.2, doubled: 0.2, late: 0.2, dropped: 0.2 };
    this.world = new World(make, { hostility, seed });
  }

  async run({ what, which, how }: Step): Promise<void> {
    const { world } = this;
    if (what === 'admit') await this.admit(which, how);
    if (what === 'deliver') await this.deliver(which);
    if (what === 'end') await this.end(which, how);
    if (what === 'die') this.dead.push(...this.held.splice(0, 1));
    if (what === 'wait') await world.clock.advance(how * 1_000);
    if (what === 'jump') world.clock.jump((how - 500) * 7_200);
    if (what === 'handleChanges') await world.handleChanges();
    if (what === 'recover') await world.lifecycle.recover();
  }

  async admit(which: number, how: number): Promise<void> {
    const known = [...this.admitted];
    const dependency = how % 3 === 0 ? known[which % Math.max(1, known.length)] : undefined;
    this.#names += 1;
    const taskId = `task-${this.#names}`;
    try {
      await this.world.lifecycle.admit({
        taskId,
        kind: KINDS[which % 3] ?? 'Compact',
        target: TARGETS[how % 2] ?? TARGETS[0],
        force: how % 7 === 0,
        reason: `reason ${how % 4}`,
        ...(dependency ? { dependsOn: [dependency] } : {}),
      });
      this.admitted.add(taskId);
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^DEPENDENCY_(CYCLE|FAILED)$/) });
    }
  }

  /** Takes any message ever sent, so that every message may come twice, late or never. */
  async deliver(which: number): Promise<void> {
    const { sent } = this.world.queue;
    const message = sent[which % Math.max(1, sent.length)];
    if (message?.taskId !== undefined) await this.claim(message.taskId);
  }

  async claim(taskId: string): Promise<Claim | undefined> {
    const outcome = await this.world.claim(taskId);
    if (outcome.outcome !== 'claimed') return undefined;
    const { claim } = outcome;
    const { target } = claim.task;
    expect(claim.token).toBeGreaterThan(this.lastToken.get(target) ?? 0);
    this.lastToken.set(target, claim.token);
    this.held.push(claim);
    return claim;
  }

  async end(which: number, how: number): Promise<void> {
    const sleepers = how % 5 === 0 ? this.dead : this.held;
    const [claim] = sleepers.splice(which % Math.max(1, sleepers.length), 1);
    if (claim) await this.settle(claim, how);
  }

  async settle(claim: Claim, how: number): Promise<void> {
    const followUp = how % 11 === 0 ? { partial: 'a part', followUp: { kind: claim.task.kind, reason: 'rest' } } : {};
    const dispositions = ['contention', 'failure', 'permanent'] as const;
    const disposition = how % 2 === 0 ? dispositions[how % 3] : undefined;
    try {
      await this.world.lifecycle.settle(
        claim,
        disposition ? failedEnd(disposition) : { end: 'done', result: workResult(claim.task.kind, followUp) },
      );
    } catch (error) {
      expect(error).toMatchObject({ code: 'LEASE_LOST' });
    }
  }

  /** No more accidents: every message is delivered and every attempt succeeds, until nothing is open. */
  async quiesce(): Promise<void> {
    const { world } = this;
    this.dead.push(...this.held.splice(0));
    for (let round = 0; round < 150; round += 1) {
      await world.clock.advance(round < 20 ? 5 * MINUTE : 60 * MINUTE);
      await world.lifecycle.recover();
      await world.handleChanges();
      const ids = new Set(world.queue.sent.splice(0).map((message) => message.taskId ?? ''));
      for (const id of ids) {
        const claim = await this.claim(id);
        if (claim) await this.settle(claim, 1);
        this.held.length = 0;
      }
      if ((await this.records()).every(({ task, notified }) => hasEnded(task.state) && notified)) return;
    }
  }

  /** Every task of the ledger, read around the hostile wrapper. */
  async records(): Promise<readonly TaskRecord[]> {
    const found: TaskRecord[] = [];
    for (const target of TARGETS) {
      const hints = await this.world.base.ledger.queryIndex({
        index: 'target-tasks',
        partition: target,
        order: 'ascending',
        limit: 1_000,
      });
      for (const { pk, sk } of hints) {
        const item = await this.world.base.ledger.get({ pk, sk });
        if (item) found.push(readTask(item));
      }
    }
    return found;
  }

  async tasks(): Promise<readonly Task[]> {
    return (await this.records()).map((record) => record.task);
  }

  async assertOneHolder(): Promise<void> {
    const running = (await this.tasks()).filter((task) => task.state === 'running');
    expect(new Set(running.map((task) => task.target)).size).toBe(running.length);
  }

  async metricsOf(target: string): Promise<readonly string[]> {
    const query = { pk: tablePk(target), skPrefix: 'COMPACTION#', limit: 1_000 };
    const { items } = await this.world.base.ledger.query(query);
    return items.map((item) => reader(item.attributes).text('taskId')).sort();
  }

  async assertEnd(): Promise<void> {
    const tasks = await this.tasks();
    expect(tasks.filter((task) => !hasEnded(task.state))).toEqual([]);
    for (const id of this.admitted) {
      const task = await this.world.lifecycle.getTask(id);
      expect(task && hasEnded(task.state)).toBe(true);
      if (task?.state === 'failed') expect(task.error?.code).toBeTruthy();
    }
    for (const target of TARGETS) {
      const done = tasks.filter((task) => task.kind === 'Compact' && task.state === 'done' && task.target === target);
      expect(await this.metricsOf(target)).toEqual(done.map((task) => task.id).sort());
      for (const task of done) expect(await this.world.lifecycle.getTask(`index-after-${task.id}`)).toBeDefined();
      expect(await this.world.base.ledger.get({ pk: tablePk(target), sk: 'LEASE' })).not.toMatchObject({
        attributes: { holderClaimId: expect.anything() },
      });
    }
    for (const task of tasks) {
      const { items } = await this.world.base.ledger.query({ pk: taskKey(task.id).pk, skPrefix: 'EDGE#', limit: 9 });
      expect(items).toEqual([]);
    }
  }
}

/** Seeded, so that a failure can be run again: fast-check prints the seed and the shortest history that fails. */
export function describeRandom(make: MakeLedger): void {
  describe('whatever happens', () => {
    it('one holder at a time, growing tokens, every task ends, and metrics exist exactly for done compactions', async () => {
      const property = fc.asyncProperty(
        fc.nat(),
        fc.array(step, { minLength: 10, maxLength: 60 }),
        async (seed, steps) => {
          const history = new History(make, seed);
          try {
            for (const one of steps) {
              await history.run(one);
              await history.assertOneHolder();
            }
            await history.quiesce();
            await history.assertEnd();
          } finally {
            history.world.close();
          }
        },
      );
      const limits = { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS, markInterruptAsFailure: false };
      await fc.assert(property, { ...limits, seed: 20_260_101 });
    });
  });
}
