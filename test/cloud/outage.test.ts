import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openPlanner } from '../../src/aws/open-planner.ts';
import { orderFault } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { moveClock, resetClock } from '../fixtures/handlers.ts';

const STORES = ['fragmented', 'sessions', 'healthy'];

describe('a whole round of errors from S3', () => {
  let fleet: CloudFleet;

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: STORES });
    await fleet.sweep();
  });
  afterAll(() => {
    resetClock();
    vi.restoreAllMocks();
  });

  /** One sweep by a function of its own; answers its summary and what it wrote. */
  async function sweepOnce() {
    const lines: string[] = [];
    moveClock(600_000);
    const planner = await openPlanner(fleet.stack.environment, { write: (line) => lines.push(line) });
    const summary = await planner.sweep('all', 300_000);
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return {
      summary,
      logs: parsed.filter((line) => !('_aws' in line)),
      metrics: parsed.filter((line) => '_aws' in line),
    };
  }

  async function numbers() {
    const { tables } = await fleet.queries.status();
    const facts = tables.map(({ target, facts: one }) => ({
      target,
      version: one?.version,
      rows: one?.rows,
      wal: one?.wal?.shards.length,
    }));
    return facts.toSorted((left, right) => left.target.localeCompare(right.target));
  }

  const wholeBucket = () => [`/${fleet.stack.bucket}`];
  const eachTable = () => STORES.map((name) => `/${fleet.stack.bucket}/db/${name}.lance/`);

  it.each([
    ['every table', eachTable, 3],
    ['the bucket', wholeBucket, 1],
  ])(
    'of %s leaves the last known facts, asks for nothing, and raises what the alarm watches',
    async (_what, places, failed) => {
      const known = await numbers();
      const asked = (await fleet.tasks()).length;
      for (const path of places()) await orderFault({ path, method: 'GET', status: 503, times: 100_000 });
      const { summary, logs, metrics } = await sweepOnce().finally(async () => {
        for (const path of places()) await orderFault({ path, method: 'GET', status: 503, times: 0 });
      });

      expect(summary).toEqual({ tables: 0, asked: 0, failed, skipped: 0 });
      expect(logs.filter(({ level, code }) => level === 'error' && code === 'STORE_THROTTLED')).toHaveLength(failed);
      expect(metrics).toEqual([
        expect.objectContaining({ stage: 'sweep-all', TablesFailed: failed, TablesRead: 0, TasksAsked: 0 }),
      ]);
      expect(await numbers()).toEqual(known);
      expect((await fleet.tasks()).length).toBe(asked);
    },
  );

  it('is not needed to keep a sweep from its end: one without time left says so, and throws nothing', async () => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const planner = await openPlanner(fleet.stack.environment, { write });

    expect(await planner.sweep('all', 10_000)).toEqual({ tables: 0, asked: 0, failed: 0, skipped: 1 });
    expect(lines).toEqual([
      expect.objectContaining({ level: 'warn', code: 'SWEEP_OUT_OF_TIME' }),
      expect.objectContaining({ stage: 'sweep-all', TablesRead: 0, TablesSkipped: 1 }),
    ]);
  });

  it('is over with the next sweep', async () => {
    expect((await sweepOnce()).summary).toMatchObject({ tables: 3, failed: 0 });
  });
});
