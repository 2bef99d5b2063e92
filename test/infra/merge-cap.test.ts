import { describe, expect, it } from 'vitest';
import type { TaskReport } from '../../src/upkeep/reports.ts';
import { viewsOf } from './fixtures/deployed-queries.ts';
import { synthesizeFor } from './fixtures/deployment.ts';
import { buildWaitingTables, MERGED_ROWS } from './fixtures/waiting-tables.ts';
import { LocalCloud } from './local-cloud/local-cloud.ts';

/** The most tasks that ran at one moment, by what the ledger says of their times. */
function mostAtOnce(tasks: readonly TaskReport[]): number {
  const changes = tasks.flatMap(({ startedAt, endedAt }) => [
    { at: Date.parse(startedAt ?? ''), by: 1 },
    { at: Date.parse(endedAt ?? ''), by: -1 },
  ]);
  // Of two in the same millisecond the end comes first.
  changes.sort((left, right) => left.at - right.at || left.by - right.by);
  let running = 0;
  return changes.reduce((most, { by }) => {
    running += by;
    return Math.max(most, running);
  }, 0);
}

describe('tables that wait for a merge', () => {
  it.each([
    // Throttled messages are hidden for the queue's visibility timeout: those of a queue that no event source holds back.
    { cap: 1, tables: 3, minutes: 90 },
    { cap: 3, tables: 12, minutes: 1 },
  ])(
    '$tables with a cap of $cap: never more at once, none among the dead letters, all done within $minutes min',
    async (the) => {
      const { cap, tables, minutes } = the;
      const deployment = await synthesizeFor({
        MERGE_WAL_CONCURRENCY: String(cap),
        MERGE_WAL_MIN_GENERATIONS: '1',
        // No merge of this test is about what earlier ones left.
        GENERATION_RETENTION: '86400',
      });
      const targets = await buildWaitingTables(deployment.root, tables);
      const cloud = await LocalCloud.start({ ...deployment, minute: 9 });
      try {
        const queries = viewsOf(cloud, deployment.root);
        const mergesNow = async () =>
          (await queries.history({ limit: 200 })).tasks.filter(({ kind }) => kind === 'MergeWal');
        let merges: readonly TaskReport[] = [];
        const over = () => merges.length > 0 && merges.every(({ state }) => state === 'done');
        for (let minute = 0; minute < minutes && !over(); minute += 1) {
          await cloud.pass(1);
          merges = await mergesNow();
        }

        expect(cloud.trouble).toEqual([]);
        expect(await cloud.deadLetters()).toBe(0);
        expect(merges).toHaveLength(tables);
        expect(merges.filter(({ state }) => state !== 'done')).toEqual([]);
        expect(mostAtOnce(merges)).toBeGreaterThan(0);
        expect(mostAtOnce(merges)).toBeLessThanOrEqual(cap);
        expect(cloud.functionOf('MergeWalWorker').mostActive).toBe(cap);
        for (const target of targets) {
          const { rows, wal } = await queries.inspect(target);
          expect([rows, wal?.shards.map(({ pendingGenerations }) => pendingGenerations)]).toEqual([MERGED_ROWS, [0]]);
        }
      } finally {
        await cloud.stop();
      }
    },
  );
});
