import { describe, expect, it } from 'vitest';
import { UpkeepError } from '../../../src/errors.ts';
import { assertPartsDone } from '../../../src/tasks/part-outcomes.ts';

const error = (code: string, disposition: 'contention' | 'failure' | 'permanent') =>
  new UpkeepError(`${code} happened.`, { code, disposition });

describe('an attempt of several parts', () => {
  it('is whole when no part failed, also when there was none', () => {
    expect(assertPartsDone([{ name: 'shard-1' }, { name: 'shard-2' }])).toBeUndefined();
    expect(assertPartsDone([])).toBeUndefined();
  });

  it('is partial when one of six failed, and names the one', () => {
    const good = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }));
    const partial = assertPartsDone([...good, { name: 'shard-6', error: error('GENERATION_MISSING', 'permanent') }]);
    expect(partial).toContain('1 of 6');
    expect(partial).toContain('shard-6');
    expect(partial).toContain('GENERATION_MISSING');
  });

  it('has failed when one failed and none succeeded', () => {
    const rechecked = () => assertPartsDone([{ name: 'shard-1', error: error('GENERATION_MISSING', 'permanent') }]);
    expect(rechecked).toThrow(
      expect.objectContaining({
        code: 'GENERATION_MISSING',
        disposition: 'permanent',
        message: expect.stringContaining('shard-1'),
      }),
    );
  });

  it('keeps the class of an error that was wrapped twice', () => {
    const wrapped = new Error('outer', { cause: new Error('inner', { cause: error('S3_SLOW_DOWN', 'contention') }) });
    expect(() => assertPartsDone([{ name: 'shard-1', error: wrapped }])).toThrow(
      expect.objectContaining({ code: 'S3_SLOW_DOWN', disposition: 'contention' }),
    );
  });

  it('that failed in several ways is an ordinary failure: something may still come of it, and it is counted', () => {
    const rechecked = () =>
      assertPartsDone([
        { name: 'shard-1', error: error('S3_SLOW_DOWN', 'contention') },
        { name: 'shard-2', error: error('GENERATION_MISSING', 'permanent') },
      ]);
    expect(rechecked).toThrow(expect.objectContaining({ disposition: 'failure' }));
  });
});
