import { describe, expect, it } from 'vitest';
import { jitteredWait, redeliveryDelayMs } from '../../src/backoff.ts';

describe('a wait before the next try', () => {
  it('lies below a bound that doubles with each try, up to the longest', () => {
    const wait = (attempt: number) => jitteredWait(() => 0.5, attempt, { firstMs: 100, longestMs: 500 });
    expect([1, 2, 3, 4, 9].map(wait)).toEqual([50, 100, 200, 250, 250]);
  });

  it('of a message grows by 5 s with each receive, up to a minute', () => {
    expect([0, 1, 2, 11, 12, 50].map(redeliveryDelayMs)).toEqual([5_000, 5_000, 10_000, 55_000, 60_000, 60_000]);
  });
});
