import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PendingShard, planMerge } from '../../../src/work/merge-plan.ts';

const MiB = 1024 * 1024;

function shard(shardId: string, sizes: readonly number[], watermark = 0): PendingShard {
  const pending = sizes.map((bytes, index) => {
    const generation = watermark + index + 1;
    return { generation, path: `x_gen_${generation}`, bytes };
  });
  return { shardId, watermark, pending };
}

describe('what one pass of a merge takes', () => {
  it('of 100 pending generations the first 8 are taken and 92 are left', () => {
    const plan = planMerge([shard('a', new Array(100).fill(1000))], { maxGenerations: 8, maxBytes: 256 * MiB });
    expect(plan.selections[0]?.generations.map((generation) => generation.generation)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    expect(plan.left).toBe(92);
  });

  it('with generations of 300 MiB and a cap of 1 GiB the pass stops before the fourth', () => {
    const plan = planMerge([shard('a', new Array(8).fill(300 * MiB))], { maxGenerations: 8, maxBytes: 1024 * MiB });
    expect(plan.selections[0]?.generations).toHaveLength(3);
    expect(plan.bytes).toBe(900 * MiB);
  });

  it('a first generation of twice the cap goes alone', () => {
    const plan = planMerge([shard('a', [2048 * MiB, 1])], { maxGenerations: 8, maxBytes: 1024 * MiB });
    expect(plan.selections[0]?.generations.map((generation) => generation.generation)).toEqual([1]);
  });

  it('no shard waits behind the backlog of another one', () => {
    const plan = planMerge([shard('a', [60, 60, 60]), shard('b', [30])], { maxGenerations: 8, maxBytes: 100 });
    expect(plan.selections.map(({ shardId, generations }) => [shardId, generations.length])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('whatever waits, a pass takes a gapless prefix of each shard, keeps the limits and always takes something', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 12 });
    const shards = fc.array(sizes, { maxLength: 6 });
    fc.assert(
      fc.property(
        shards,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 2000 }),
        (all, maxGenerations, maxBytes) => {
          const pending = all.map((bytes, index) => shard(String(index), bytes, index * 3));
          const plan = planMerge(pending, { maxGenerations, maxBytes });
          const taken = plan.selections.flatMap((selection) => selection.generations);
          for (const selection of plan.selections) {
            const expected = pending.find(({ shardId }) => shardId === selection.shardId)?.pending;
            expect(selection.generations).toEqual(expected?.slice(0, selection.generations.length));
            expect(selection.generations.length).toBeLessThanOrEqual(maxGenerations);
          }
          const waiting = pending.reduce((sum, { pending: list }) => sum + list.length, 0);
          expect(plan.left).toBe(waiting - taken.length);
          if (taken.length > 1) expect(plan.bytes).toBeLessThanOrEqual(maxBytes);
          if (waiting > 0) expect(taken.length).toBeGreaterThan(0);
        },
      ),
    );
  });
});
