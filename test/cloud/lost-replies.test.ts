import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openWorker } from '../../src/aws/open-worker.ts';
import { UpkeepError } from '../../src/errors.ts';
import type { Ledger, Write } from '../../src/tasks/ports.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';

/** A ledger that writes what it is asked, and whose first answer to such a write never arrives. */
function losing(ledger: Ledger, fits: (writes: readonly Write[]) => boolean): Ledger & { lost: number } {
  const loser = {
    ...ledger,
    lost: 0,
    async transact(writes: readonly Write[], options: { readonly clientToken: string }) {
      const result = await ledger.transact(writes, options);
      if (loser.lost > 0 || !fits(writes)) return result;
      loser.lost += 1;
      throw new UpkeepError('The answer was lost.', { code: 'LEDGER_UNAVAILABLE', disposition: 'contention' });
    },
  };
  return loser;
}

const sets = (write: Write, attribute: string, value: unknown) =>
  write.kind === 'update' && write.set?.[attribute] === value;

describe('an answer of the ledger that is lost', () => {
  let fleet: CloudFleet;

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['fragmented', 'images'] });
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it.each([
    ['claim', 'fragmented', 'running'],
    ['settle', 'images', 'done'],
  ] as const)('to a %s is adopted by the same holder: one attempt, one compaction', async (what, store, state) => {
    const target = fleet.target(store);
    const before = (await fleet.queries.inspect(target)).version;
    const ledger = losing(fleet.cloud.ledger, (writes) => writes.some((write) => sets(write, 'state', state)));
    const worker = await openWorker(
      'Compact',
      { ...process.env, ...fleet.stack.environment },
      { ledger, write: () => undefined },
    );
    await worker.deliver(
      {
        messageId: what,
        receiptHandle: 'none',
        body: JSON.stringify({ kind: 'Compact', target, taskId: `lost-${what}` }),
        attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) },
      },
      { remainingMs: () => 900_000, requestId: 'request' },
    );
    const task = await fleet.planner.lifecycle.getTask(`lost-${what}`);

    expect(ledger.lost).toBe(1);
    expect(task).toMatchObject({ state: 'done', attempts: 1, result: { versionBefore: before } });
    expect((await fleet.queries.inspect(target)).version).toBe(task?.result?.versionAfter);
    expect(await fleet.planner.lifecycle.leaseOf(target)).toBeUndefined();
  });
});
