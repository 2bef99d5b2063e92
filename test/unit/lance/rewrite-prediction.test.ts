import { describe, expect, it } from 'vitest';
import type { Fragment, TableManifest } from '../../../src/lance/manifest.ts';
import {
  boundedGroups,
  compactableFragments,
  nextCommit,
  planPass,
  predictOptimize,
} from '../../../src/lance/rewrite-prediction.ts';

const mebibyte = 1024 ** 2;
const target = 128 * mebibyte;
const limits = { compactMaxBytes: 1024 * mebibyte, compactMaxSourceFragments: 32, targetFragmentBytes: target };

interface Sketch {
  readonly rows?: number;
  readonly deleted?: number;
  readonly bytes?: number | undefined;
}

function manifest(sketches: readonly Sketch[], indexed: readonly (readonly number[])[] = []): TableManifest {
  const fragments = sketches.map((sketch, id): Fragment => {
    const { rows = 1000, deleted = 0 } = sketch;
    const bytes = 'bytes' in sketch ? sketch.bytes : mebibyte;
    return { id, physicalRows: rows, deletedRows: deleted, liveRows: rows - deleted, bytes, files: [] };
  });
  const indexes = indexed.map((ids, at) => ({ name: `index-${at}`, fragments: new Set(ids) }));
  return { fragments, indexes } as unknown as TableManifest;
}

function repeat(times: number, sketch: Sketch = {}): Sketch[] {
  return Array.from({ length: times }, () => sketch);
}

describe('what optimize() rewrites', () => {
  it('is fragments below 1,048,576 rows that are neighbours, with the sum of their bytes', () => {
    const full = { rows: 1_048_576, bytes: 50 * mebibyte };
    expect(predictOptimize(manifest([{}, {}, full, {}, full, { rows: 1_048_575 }, {}]))).toEqual({
      groups: [
        [0, 1],
        [5, 6],
      ],
      fragments: 4,
      bytes: 4 * mebibyte,
    });
  });

  it('is a fragment alone only with more than 10 % of its rows deleted', () => {
    const full = { rows: 2_000_000 };
    const alone = (deleted: number) => predictOptimize(manifest([full, { ...full, deleted }, full])).groups;
    expect(alone(200_000)).toEqual([]);
    expect(alone(200_001)).toEqual([[1]]);
  });

  it('is never one group across a difference in what indexes cover', () => {
    expect(predictOptimize(manifest(repeat(4), [[0, 1]])).groups).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(predictOptimize(manifest(repeat(2), [[0]])).groups).toEqual([]);
  });

  it('is not known in bytes as soon as one size is missing', () => {
    expect(predictOptimize(manifest([{}, { bytes: undefined }])).bytes).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('what the bounded strategy rewrites', () => {
  it('is runs of small fragments, and the half-empty ones', () => {
    const large = { bytes: target };
    const { groups } = boundedGroups(manifest([{}, {}, large, {}, large, { ...large, deleted: 101 }]), limits);
    expect(groups).toEqual([[0, 1], [5]]);
  });

  it('is never one group across a difference in what indexes cover, and a hold is no index', () => {
    const table = manifest(repeat(4), [[0, 1]]);
    expect(boundedGroups(table, limits).groups).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const hold = { name: '__lance_upkeep_hold', fragments: new Set([0]) };
    const held = { ...manifest(repeat(3)), indexes: [hold] } as unknown as TableManifest;
    expect(boundedGroups(held, limits).groups).toEqual([[0, 1, 2]]);
  });

  it('leaves alone what is above 3/4 of the target', () => {
    const { groups: above } = boundedGroups(manifest(repeat(2, { bytes: target * 0.75 })), limits);
    const { groups: below } = boundedGroups(manifest(repeat(2, { bytes: target * 0.75 - 1 })), limits);
    expect([above.length, below.length]).toEqual([0, 1]);
  });

  it('leaves alone what the same pass has written, and does not join what lies on either side of it', () => {
    const written = ({ id }: Fragment) => id === 2;
    expect(boundedGroups(manifest(repeat(5)), limits, written).groups).toEqual([
      [0, 1],
      [3, 4],
    ]);
  });

  it('comes in commits of as many groups as fit both limits together', () => {
    const large = { bytes: target };
    const table = manifest([{}, {}, large, {}, {}, large, {}, {}, {}]);
    const planned = boundedGroups(table, limits);
    expect(nextCommit(table, planned, limits)).toHaveLength(3);
    expect(nextCommit(table, planned, { ...limits, compactMaxSourceFragments: 5 })).toHaveLength(2);
    expect(nextCommit(table, planned, { ...limits, compactMaxBytes: 2 * mebibyte })).toEqual([[0, 1]]);
    expect(nextCommit(table, planned, { ...limits, compactMaxBytes: 1 })).toEqual([[0, 1]]);
  });
});

describe('a pass', () => {
  it('is optimize() up to COMPACT_MAX_BYTES', () => {
    expect(planPass(manifest(repeat(20, { bytes: 51 * mebibyte })), limits)).toMatchObject({
      strategy: 'optimize',
      fragments: 20,
      tooLarge: 0,
    });
  });

  it('S30: is bounded by bytes and fragments above it, and comes to an end', () => {
    let table = manifest(repeat(300, { rows: 10, bytes: 8 * mebibyte }));
    let written = 0;
    let passes = 0;
    for (let pass = planPass(table, limits); pass.strategy !== 'none'; pass = planPass(table, limits)) {
      expect(pass.strategy).toBe('bounded');
      for (const group of pass.groups) expect(group.length).toBeLessThanOrEqual(32);
      written += pass.bytes;
      passes += 1;
      const rewritten = new Set(pass.groups.flat());
      const kept = table.fragments.filter((fragment) => !rewritten.has(fragment.id));
      const merged = pass.groups.map((group) => ({
        rows: group.length * 10,
        bytes: table.fragments.filter(({ id }) => group.includes(id)).reduce((sum, { bytes = 0 }) => sum + bytes, 0),
      }));
      table = manifest([...kept.map(({ physicalRows, bytes }) => ({ rows: physicalRows, bytes })), ...merged]);
    }
    expect(passes).toBe(1);
    expect(written).toBe(300 * 8 * mebibyte);
    expect(table.fragments.length).toBe(10);
  });

  it('leaves out and counts what does not fit COMPACT_MAX_BYTES even with one neighbour', () => {
    const tight = { ...limits, compactMaxBytes: 100 * mebibyte };
    const pass = planPass(manifest([{ bytes: 90 * mebibyte }, { bytes: 90 * mebibyte }, {}, {}]), tight);
    expect(pass).toMatchObject({ strategy: 'bounded', groups: [[1, 2, 3]], tooLarge: 1 });
    const none = planPass(manifest(repeat(2, { bytes: 90 * mebibyte })), tight);
    expect(none).toMatchObject({ strategy: 'none', groups: [], tooLarge: 2 });
  });

  it('does not put fragments into one group across a larger one that it leaves out', () => {
    const tight = { ...limits, compactMaxBytes: 100 * mebibyte };
    const huge = { bytes: 500 * mebibyte, deleted: 500 };
    expect(planPass(manifest([{}, {}, huge, {}, {}]), tight)).toMatchObject({
      strategy: 'bounded',
      groups: [
        [0, 1],
        [3, 4],
      ],
      tooLarge: 1,
    });
  });

  it('is none for a table that needs nothing', () => {
    expect(planPass(manifest([{}]), limits)).toEqual({
      strategy: 'none',
      groups: [],
      fragments: 0,
      bytes: 0,
      tooLarge: 0,
    });
  });

  it('counts as reasons to begin only small and half-empty fragments, not what optimize() takes along', () => {
    const wide = { bytes: 127 * mebibyte };
    const table = manifest([wide, wide, {}, { ...wide, deleted: 500 }]);
    const pass = planPass(table, limits);
    expect(pass).toMatchObject({ strategy: 'optimize', fragments: 4 });
    expect(compactableFragments(table, pass, target)).toBe(2);
  });
});
