import { describe, expect, it } from 'vitest';
import type { TaskReport } from '../../src/plane.ts';
import { viewsOf } from './fixtures/deployed-views.ts';
import { synthesizeFor } from './fixtures/deployment.ts';
import { buildWaitingStores, MERGED_ROWS } from './fixtures/waiting-stores.ts';
import { LocalCloud } from './local-cloud/local-cloud.ts';

const STORES = 30;

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

describe(`${STORES} stores that wait for a merge`, () => {
  it.each([1, 2, 4])('with a cap of %s: never more at once, none among the dead letters, all done', async (cap) => {
    const deployment = await synthesizeFor({
      MERGE_WAL_CONCURRENCY: String(cap),
      MERGE_WAL_MIN_GENERATIONS: '1',
    });
    const targets = await buildWaitingStores(deployment.root, STORES);
    const cloud = await LocalCloud.start({ ...deployment, minute: 9 });
    try {
      await cloud.pass(1);

      expect(cloud.trouble).toEqual([]);
      expect(await cloud.deadLetters()).toBe(0);
      const views = viewsOf(cloud, deployment.root);
      const merges = (await views.history({ limit: 200 })).tasks.filter(({ kind }) => kind === 'MergeWal');
      expect(merges).toHaveLength(STORES);
      expect(merges.filter(({ state }) => state !== 'done')).toEqual([]);
      expect(mostAtOnce(merges)).toBeGreaterThan(0);
      expect(mostAtOnce(merges)).toBeLessThanOrEqual(cap);
      expect(cloud.functionOf('MergeWalWorker').mostActive).toBe(cap);
      for (const target of targets) {
        const { rows, wal } = await views.inspect(target);
        expect([rows, wal?.shards.map(({ pendingGenerations }) => pendingGenerations)]).toEqual([MERGED_ROWS, [0]]);
      }
    } finally {
      await cloud.stop();
    }
  });
});
