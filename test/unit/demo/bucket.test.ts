import { describe, expect, it } from 'vitest';
import { bucketOf } from '../../../src/demo/bucket.ts';

describe('the bucket of a key', () => {
  it('is the one of the vectors in the Lance spec', () => {
    expect(bucketOf('a', 8)).toBe(1);
    expect(bucketOf('b', 8)).toBe(5);
  });

  it('stays below the number of buckets and uses all of them', () => {
    const seen = new Set(Array.from({ length: 200 }, (_, number) => bucketOf(`key-${number}`, 4)));
    expect([...seen].sort()).toEqual([0, 1, 2, 3]);
  });
});
