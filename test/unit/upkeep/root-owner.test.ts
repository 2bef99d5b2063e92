import { describe, expect, it } from 'vitest';
import { claimRoot, OWNER_KEY } from '../../../src/upkeep/root-owner.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';

const ours = { ledgerId: 'ledger-a', ledger: '/data/upkeep.sqlite' };
const theirs = { ledgerId: 'ledger-b', ledger: 'arn:aws:dynamodb:eu-west-1:1:table/upkeep' };

describe('the owner of a root', () => {
  it('is the first ledger that claims it, and stays it', async () => {
    const { store } = memoryStore('s3://bucket/db');
    expect(await claimRoot(store, ours, 0)).toBe('claimed');
    expect(await claimRoot(store, ours, 5)).toBe('already ours');
    expect(await claimRoot(store, { ...ours, ledger: '/moved/upkeep.sqlite' }, 5)).toBe('already ours');
  });

  it('refuses every other ledger, and tells how to take over', async () => {
    const { store } = memoryStore('s3://bucket/db');
    await claimRoot(store, theirs, 0);
    await expect(claimRoot(store, ours, 5)).rejects.toEqual(
      expect.objectContaining({
        code: 'ROOT_OWNED',
        disposition: 'permanent',
        message: expect.stringContaining(`${theirs.ledger} (ledger-b), since 1970-01-01T00:00:00.000Z`),
        next: expect.stringContaining('delete s3://bucket/db/_lance_upkeep/owner.json'),
      }),
    );
  });

  it('is one only, when two ledgers claim it at the same time', async () => {
    const { store } = memoryStore('s3://bucket/db');
    const outcomes = await Promise.allSettled([claimRoot(store, ours, 0), claimRoot(store, theirs, 0)]);
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it.each([
    ['not JSON', 'it is not JSON'],
    ['null', 'it has no ledgerId'],
    ['{"ledgerId":"ledger-a","ledger":5}', 'it has no ledger'],
  ])('is not guessed from a damaged marker: %s', async (content, why) => {
    const { store } = memoryStore('s3://bucket/db', { [OWNER_KEY]: content });
    await expect(claimRoot(store, ours, 0)).rejects.toEqual(
      expect.objectContaining({ code: 'ROOT_OWNER_UNREADABLE', message: expect.stringContaining(why) }),
    );
  });

  it('is open again, for the next try, when the marker goes away in between', async () => {
    const { store } = memoryStore('s3://bucket/db', { [OWNER_KEY]: '{}' });
    const vanishing = { ...store, get: async () => undefined };
    await expect(claimRoot(vanishing, ours, 0)).rejects.toEqual(
      expect.objectContaining({ code: 'ROOT_OWNER_MOVED', disposition: 'contention' }),
    );
  });
});
