import { describe, expect, it } from 'vitest';
import { nextWakeStep, waitAfterContention, waitAfterFailure } from '../../../src/tasks/cooldown.ts';

const SIX_HOURS = 21_600_000;

describe('the waiting times', () => {
  it('failures wait 60 s and 120 s, then cool down for 600 s doubling to 6 h', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((streak) => waitAfterFailure(streak, 3));
    expect(waits.map(({ waitMs }) => waitMs / 1_000)).toEqual([
      60, 120, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 21_600,
    ]);
    expect(waits.map(({ cooldown }) => cooldown)).toEqual([false, false, true, true, true, true, true, true, true]);
  });

  it('a cooldown can begin with the first failure', () => {
    expect(waitAfterFailure(1, 1)).toEqual({ waitMs: 600_000, cooldown: true });
  });

  it('a late cooldown never makes a plain retry wait longer than the first cooldown', () => {
    expect(waitAfterFailure(9, 10)).toEqual({ waitMs: 600_000, cooldown: false });
  });

  it('an endless streak stays at 6 h', () => {
    expect(waitAfterFailure(10_000, 3)).toEqual({ waitMs: SIX_HOURS, cooldown: true });
  });

  it('contention waits 2, 2, 30 s doubling to 900 s, for ever', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 5_000].map((count) => waitAfterContention(count) / 1_000);
    expect(waits).toEqual([2, 2, 30, 60, 120, 240, 480, 900, 900, 900]);
  });

  it('wake-ups come ever more rarely, at least every 4 hours', () => {
    expect(nextWakeStep(60_000)).toBe(120_000);
    expect(nextWakeStep(3 * 3_600_000)).toBe(4 * 3_600_000);
  });
});
