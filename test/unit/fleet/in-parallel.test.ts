import { describe, expect, it } from 'vitest';
import { inParallel } from '../../../src/fleet/in-parallel.ts';

describe('work in parallel', () => {
  it('gives results in the order of the items and never runs more than the limit', async () => {
    let running = 0;
    let most = 0;
    const results = await inParallel([5, 1, 4, 2, 3], 2, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, item));
      running -= 1;
      return item * 10;
    });
    expect(results).toEqual([50, 10, 40, 20, 30]);
    expect(most).toBe(2);
  });

  it('waits for what is running, starts nothing more, and throws the first error', async () => {
    const started: number[] = [];
    const ended: number[] = [];
    const run = inParallel([1, 2, 3, 4], 2, async (item) => {
      started.push(item);
      if (item === 1) throw new Error('first');
      await new Promise((resolve) => setTimeout(resolve, 5));
      ended.push(item);
    });
    await expect(run).rejects.toThrow('first');
    expect(started).toEqual([1, 2]);
    expect(ended).toEqual([2]);
  });
});
