import { describe, expect, it } from 'vitest';
import { count, duration, percent, size } from '../../src/wording.ts';

describe('numbers in messages', () => {
  it('are counted with their noun', () => {
    expect([count(0, 'row'), count(1, 'row'), count(12_345, 'row')]).toEqual(['0 rows', '1 row', '12,345 rows']);
  });

  it('are sizes in the largest binary unit', () => {
    expect([size(0), size(1023), size(1536), size(2 ** 28), size(654_029), size(2 ** 50)]).toEqual([
      '0 bytes',
      '1023 bytes',
      '1.5 KiB',
      '256 MiB',
      '639 KiB',
      '1024 TiB',
    ]);
  });

  it('are durations in the largest unit that leaves at least two of it', () => {
    expect([-5, 119_000, 120_000, 7_199_000, 7_200_000, 172_800_000].map(duration)).toEqual([
      '0 s',
      '119 s',
      '2 min',
      '2 h',
      '2 h',
      '2 days',
    ]);
  });

  it('are shares in percent', () => {
    expect(percent(0.234)).toBe('23 %');
  });
});
