import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { changeRecordOf } from '../../src/aws/dynamo-stream-records.ts';
import { seeded } from '../contract/hostile-ledger.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { StreamReader } from '../fixtures/dynamo-ledger-world.ts';
import { misread } from '../fixtures/fleet-on-s3.ts';

const STORES = ['fragmented', 'sessions', 'accounts', 'orders'];

/** Every change of every lease, oldest first, as the ledger's stream kept it. */
async function leaseHistory(table: string) {
  const reader = new StreamReader(table);
  const changes = [];
  for (let records = await reader.next(); records.length > 0; records = await reader.next()) {
    for (const record of records) {
      const change = changeRecordOf(record);
      if (change?.key.sk === 'LEASE') changes.push(change);
    }
  }
  return changes;
}

describe('two of every function, every message and every batch of records twice, in random order', () => {
  let fleet: CloudFleet;
  const versionsBefore = new Map<string, number>();

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: STORES, sandboxes: 2, unkind: seeded(11) });
    for (const name of STORES) {
      versionsBefore.set(fleet.target(name), (await fleet.queries.inspect(fleet.target(name))).version);
    }
    await fleet.heal();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('comes to the same end: all done, all rows there', async () => {
    const tasks = await fleet.tasks();

    expect(fleet.sources.delivered).toBeGreaterThan(2 * tasks.length - 1);
    expect(tasks.filter(({ state }) => state !== 'done')).toEqual([]);
    expect(await misread(fleet.stack.root, fleet.stack.environment, fleet.expected)).toEqual([]);
  });

  it('makes no commit that is not the one of a task, and runs no task twice', async () => {
    const tasks = await fleet.tasks();
    const after = new Map(versionsBefore);
    for (const { target, result } of tasks) {
      const commits = result === null ? 0 : result.versionAfter - result.versionBefore;
      after.set(target, (after.get(target) ?? 0) + commits);
    }
    const real = new Map<string, number>();
    for (const name of STORES) real.set(fleet.target(name), (await fleet.queries.inspect(fleet.target(name))).version);

    expect(
      tasks.filter(({ attempts }) => attempts !== 1).map(({ id, attempts, error }) => [id, attempts, error]),
    ).toEqual([]);
    expect(real).toEqual(after);
  });

  it('asks for each thing once though two sweeps looked at the same moment', async () => {
    const tasks = await fleet.tasks();
    const compactions = tasks.filter(({ kind, target }) => kind === 'Compact' && target === fleet.target('fragmented'));

    expect(compactions).toHaveLength(1);
  });

  it('has one lease holder of a table at any time, each with a greater token', async () => {
    const history = await leaseHistory(fleet.stack.names.table);
    const holders = new Map<string, { holder: unknown; token: number }>();
    const broken: string[] = [];
    let taken = 0;
    for (const { key, after } of history) {
      const before = holders.get(key.pk);
      const holder = after?.attributes.holderClaimId;
      const token = Number(after?.attributes.token ?? 0);
      if (holder !== undefined && holder !== before?.holder) {
        taken += 1;
        if (before?.holder !== undefined) broken.push(`${key.pk}: ${String(before.holder)} was still holding it`);
        if (token <= (before?.token ?? 0)) broken.push(`${key.pk}: token ${token} after ${before?.token}`);
      }
      holders.set(key.pk, { holder, token });
    }

    expect(broken).toEqual([]);
    expect(taken).toBe((await fleet.tasks()).length);
  });
});
