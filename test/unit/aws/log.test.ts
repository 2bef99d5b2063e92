import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/aws/log.ts';

function logged(message: string): Record<string, unknown> {
  const lines: string[] = [];
  const log = createLog({ write: (line) => lines.push(line), now: () => 0, base: { function: 'compact' } });
  log.write({ stage: 'done', message, taskId: 't', target: 's3://b/x.lance', token: 4 });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.endsWith('\n')).toBe(true);
  return JSON.parse(lines[0] ?? '');
}

describe('the log', () => {
  it('is one JSON object a line, with time, level, task, target and token', () => {
    expect(logged('compacted')).toEqual({
      time: '1970-01-01T00:00:00.000Z',
      level: 'info',
      function: 'compact',
      stage: 'done',
      message: 'compacted',
      taskId: 't',
      target: 's3://b/x.lance',
      token: 4,
    });
  });

  it.each([
    ['AKIAABCDEFGHIJKLMNOP was refused', 'AKIAABCD… was refused'],
    ['GET /x?X-Amz-Signature=abcdef&y=1', 'GET /x?X-Amz-Signature=…&y=1'],
    ['{"aws_secret_access_key": "s3cr3t"}', '{"aws_secret_access_key": "…"}'],
    ['aws_session_token=abc, next', 'aws_session_token=…, next'],
    ['nothing secret here', 'nothing secret here'],
  ])('keeps secrets out of %j', (message, written) => {
    expect(logged(message).message).toBe(written);
  });

  it('writes an error with its code', () => {
    const lines: string[] = [];
    const log = createLog({ write: (line) => lines.push(line), now: () => 0, base: {} });
    log.error('sweep', { code: 'STORE_THROTTLED', message: 'slow', disposition: 'contention' }, { target: 't' });

    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      stage: 'sweep',
      code: 'STORE_THROTTLED',
      target: 't',
    });
  });
});
