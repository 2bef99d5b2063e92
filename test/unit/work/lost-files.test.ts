import { describe, expect, it } from 'vitest';
import { errorRecord } from '../../../src/errors.ts';
import type { Task } from '../../../src/tasks/task.ts';
import { namedFailure } from '../../../src/work/lost-files.ts';
import { openTask } from '../../fixtures/facts.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';

const task: Task = openTask('MergeWal');
const { store } = memoryStore('s3://bucket/db/t.lance');

/** As the native library throws: an ordinary Error with its own code, and everything in the text. */
function native(message: string): Error {
  return Object.assign(new Error(message), { code: 'GenericFailure' });
}

async function named(error: unknown) {
  const { code, disposition } = errorRecord(await namedFailure(error, task, store));
  return { code, disposition };
}

describe('what LanceDB throws at a place that nobody wrapped', () => {
  it('keeps its disposition: a throttle and a lost race are no failures', async () => {
    expect(await named(native('lance error: SlowDown: Please reduce your request rate.'))).toEqual({
      code: 'STORE_THROTTLED',
      disposition: 'contention',
    });
    expect(await named(native('Retryable commit conflict for version 7'))).toEqual({
      code: 'COMMIT_CONFLICT',
      disposition: 'contention',
    });
  });

  it('has a code of its own and a next step otherwise', async () => {
    const record = errorRecord(await namedFailure(native('Something unheard of.'), task, store));
    expect(record).toMatchObject({ code: 'LANCEDB_FAILED', disposition: 'failure', next: expect.any(String) });
  });

  it('is not said to miss a file when what is not found is a column', async () => {
    const record = errorRecord(
      await namedFailure(native('Schema error: No field named n was not found.'), task, store),
    );
    expect(record.next).not.toMatch(/file/i);
  });
});

describe('an error of this program', () => {
  it('stays what it is, since only LanceDB’s own are LanceDB’s', async () => {
    const fault = new TypeError('x is not a function');
    expect(await namedFailure(fault, task, store)).toBe(fault);
  });
});
