import { describe, expect, it } from 'vitest';
import { choosePaint } from '../../../src/cli/paint.ts';
import { createProgressPrinter } from '../../../src/cli/progress.ts';
import type { ProgressEvent } from '../../../src/upkeep/reports.ts';

const START = Date.parse('2026-01-02T03:04:05.000Z');

function printer(options: { quiet?: boolean; rewrites?: boolean }) {
  let written = '';
  const write = (text: string) => {
    written += text;
  };
  const stderr = { isTTY: options.rewrites === true, columns: 60, write };
  const made = createProgressPrinter({
    stderr,
    quiet: options.quiet === true,
    paint: choosePaint({ isTTY: false, wanted: true, env: {} }),
    rewrites: options.rewrites === true,
  });
  return { ...made, written: () => written };
}

function event(over: Partial<ProgressEvent>): ProgressEvent {
  return {
    at: START,
    stage: 'progress',
    message: 'reading',
    target: '/db/x.lance',
    kind: 'Compact',
    taskId: 't',
    ...over,
  };
}

describe('progress', () => {
  it('is one plain line with the time for what happens once', () => {
    const { show, written } = printer({});
    show(event({ stage: 'started', message: 'fragments-small' }));

    expect(written()).toBe('03:04:05Z started  Compact x: fragments-small\n');
  });

  it('repeats at most every three seconds for each task where lines cannot be rewritten', () => {
    const { show, written } = printer({});
    for (let second = 0; second < 7; second += 1)
      show(event({ at: START + second * 1_000, message: `step ${second}` }));
    show(event({ at: START + 1_000, taskId: 'other', message: 'other task' }));

    expect(written().match(/step \d|other task/g)).toEqual(['step 0', 'step 3', 'step 6', 'other task']);
  });

  it('rewrites its line on a terminal, within the width of the terminal', () => {
    const { show, hint, written } = printer({ rewrites: true });
    show(event({ message: 'one' }));
    show(event({ message: 'x'.repeat(200) }));
    hint('done');

    const [first, second, last] = written().split('\r\u001b[K');
    expect(first).toBe('03:04:05Z progress Compact x: one');
    expect(second).toHaveLength(59);
    expect(last).toBe('done\n');
  });

  it('is silent with --quiet', () => {
    const { show, hint, written } = printer({ quiet: true });
    show(event({ stage: 'failed' }));
    hint('next');

    expect(written()).toBe('');
  });
});
