import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { shards } from '../../src/tasks/items.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';

const MERGES = 80;
const CAP = 4;

describe('80 merges ready and the merge queue full', () => {
  let fleet: CloudFleet;

  async function leases(): Promise<number> {
    const pages = await Promise.all(
      shards.map((partition) =>
        fleet.cloud.ledger.queryIndex({ index: 'leases', partition, order: 'ascending', limit: 100 }),
      ),
    );
    return pages.flat().length;
  }

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['fragmented'], full: ['MergeWal'] });
    const { lifecycle } = fleet.planner;
    for (let store = 0; store < MERGES; store += 1) {
      await lifecycle.admit({ taskId: `merge-${store}`, kind: 'MergeWal', target: fleet.target(`waiting-${store}`) });
    }
    for (let store = 0; store < CAP; store += 1) {
      const outcome = await lifecycle.claim({
        taskId: `merge-${store}`,
        claimId: `claim-${store}`,
        holder: 'elsewhere',
      });
      expect(outcome.outcome).toBe('claimed');
    }
    await fleet.sources.drain();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('a compaction of another table starts at once, and nothing that waits holds a lease', async () => {
    expect(await leases()).toBe(CAP);
    await fleet.put('Compact', { kind: 'Compact', target: fleet.target('fragmented'), taskId: 'urgent' });
    await fleet.sources.drain();

    expect(await fleet.planner.lifecycle.getTask('urgent')).toMatchObject({ state: 'done', attempts: 1 });
    expect(await leases()).toBe(CAP);
    expect(await fleet.cloud.queue.visible('MergeWal')).toBeGreaterThanOrEqual(MERGES - CAP);
  });
});
