import { describe, expect, it } from 'vitest';
import { parseTimeSpan } from '../../../src/lance/time-span.ts';

const hour = 3_600_000;
const day = 24 * hour;

describe('a time span in the config of a table', () => {
  it.each<[string, number]>([
    ['30d', 30 * day],
    ['7days 2h', 7 * day + 2 * hour],
    ['1h30m', 1.5 * hour],
    ['2 weeks', 14 * day],
    ['3600s', hour],
    ['1500ms', 1500],
    ['1M', 30.44 * day],
    ['1m', 60_000],
    ['1year', 365.25 * day],
    ['1.5h', 1.5 * hour],
    [' 1day  1hour ', day + hour],
    ['0s', 0],
    ['0', 0],
  ])('%s is read as its milliseconds', (text, expected) => {
    expect(parseTimeSpan(text)).toBe(expected);
  });

  it.each(['', ' ', '30', 'd', '30 dd', '30D', '-1d', '1d,2h', '30d and more', '30d 5', 'P30D'])(
    '%j is not taken for any span',
    (text) => {
      expect(parseTimeSpan(text)).toBeUndefined();
    },
  );
});
