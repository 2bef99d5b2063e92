import { describe, expect, it } from 'vitest';
import { formatChange, formatCount, formatDuration, tableNames } from '../../../src/cli/format.ts';
import { choosePaint } from '../../../src/cli/paint.ts';
import { renderError } from '../../../src/cli/render-error.ts';
import { renderTable } from '../../../src/cli/render-table.ts';
import { renderBeforeAfter, renderInspect } from '../../../src/cli/render-tables.ts';
import { describeOutcome } from '../../../src/cli/render-tasks.ts';
import { UpkeepError } from '../../../src/errors.ts';
import type { InspectReport } from '../../../src/upkeep/reports.ts';
import { inspectReport, taskReport } from './fake-upkeep.ts';

const plain = choosePaint({ isTTY: false, wanted: true, env: {} });

function indexLine(name: string, rowsOutside: number): InspectReport['indexes'][number] {
  return {
    name,
    kind: 'Inverted',
    columns: ['text'],
    segments: 2,
    rowsOutside,
    shareOutside: rowsOutside / 4_000,
    uncoveredFragments: rowsOutside > 0 ? 1 : 0,
    filesMissing: false,
    outsideSince: rowsOutside > 0 ? '2026-01-02T03:04:05.000Z' : null,
    bytes: 2_048,
    generationsBehind: 0,
  };
}

describe('a table', () => {
  it('aligns its columns, numbers to the right, and leaves no blanks at the end of a line', () => {
    const columns = [{ title: 'table' }, { title: 'rows', align: 'right' as const }, { title: 'note' }];

    expect(
      renderTable(columns, [
        ['a', '1,000', ''],
        ['longer', '7', 'x'],
      ]),
    ).toBe('table    rows  note\na       1,000\nlonger      7  x\n');
  });

  it('pads by what is seen, not by colour codes', () => {
    const green = { text: 'ok', paint: (text: string) => `\u001b[32m${text}\u001b[39m` };

    expect(renderTable([{ title: 'state' }, { title: 'n' }], [[green, '1']])).toBe(
      'state  n\n\u001b[32mok\u001b[39m     1\n',
    );
  });

  it('keeps a cell on one line and lets no control character through', () => {
    expect(renderTable([{ title: 'x' }], [['a\nb\u001b[31mc']])).toBe('x\na b [31mc\n');
  });
});

describe('numbers for people', () => {
  it('have thousands and fitting times', () => {
    expect([formatCount(1), formatCount(1234567)]).toEqual(['1', '1,234,567']);
    expect([formatDuration(850), formatDuration(12_340), formatDuration(250_000)]).toEqual([
      '850 ms',
      '12.3 s',
      '4 min 10 s',
    ]);
  });

  it('show a change only where there is one', () => {
    expect([formatChange('1', '2'), formatChange('2', '2'), formatChange(undefined, '2')]).toEqual([
      '1 -> 2',
      '2',
      '2',
    ]);
  });
});

describe('names of tables', () => {
  it('are short unless two tables would share one', () => {
    const names = tableNames(['/a/x.lance', '/b/x.lance', '/a/y.lance']);

    expect([...names.values()]).toEqual(['/a/x.lance', '/b/x.lance', 'y']);
  });
});

describe('colour', () => {
  it.each([
    ['a terminal', { isTTY: true, wanted: true, env: {} }, true],
    ['a pipe', { isTTY: false, wanted: true, env: {} }, false],
    ['--no-color', { isTTY: true, wanted: false, env: {} }, false],
    ['NO_COLOR=1', { isTTY: true, wanted: true, env: { NO_COLOR: '1' } }, false],
    ['an empty NO_COLOR', { isTTY: true, wanted: true, env: { NO_COLOR: '' } }, true],
    ['TERM=dumb', { isTTY: true, wanted: true, env: { TERM: 'dumb' } }, false],
  ])('on %s', (_, options, coloured) => {
    expect(choosePaint(options).bad('no') !== 'no').toBe(coloured);
  });
});

describe('the before and after of a table', () => {
  const before = inspectReport({
    wal: {
      shards: [
        {
          shardId: 's-1',
          watermark: 0,
          pendingGenerations: 12,
          pendingRows: 100,
          pendingBytes: 2_048,
          oldestPending: '2026-01-02T03:04:05.000Z',
        },
      ],
    },
  });
  const after = inspectReport({
    version: 12,
    fragments: 1,
    keyIndex: {
      name: 'id_idx',
      kind: 'BTree',
      coveredFragments: 1,
      uncoveredFragments: 0,
      unindexedRows: 0,
      filesMissing: false,
    },
    indexes: [indexLine('id_idx', 0), indexLine('words', 5)],
    wal: {
      shards: [
        { shardId: 's-1', watermark: 12, pendingGenerations: 0, pendingRows: 0, pendingBytes: 0, oldestPending: null },
      ],
    },
  });

  it('stands in one line, with what changed as before -> after', () => {
    const [, line] = renderBeforeAfter([before], [after]).split('\n');

    expect(line?.split(/ {2,}/)).toEqual([
      'events',
      '7 -> 12',
      '40 -> 1',
      'none -> BTree, all rows',
      'none -> 2, words lacks 5 rows',
      '12 -> 0',
      '4,000',
      '1.5 KiB',
    ]);
  });

  it('shows only the after of a table that was not there before', () => {
    const [, line] = renderBeforeAfter([], [after]).split('\n');

    expect(line?.split(/ {2,}/)).toEqual([
      'events',
      '12',
      '1',
      'BTree, all rows',
      '2, words lacks 5 rows',
      '0',
      '4,000',
      '1.5 KiB',
    ]);
  });

  it('lists each index of an inspected table, with what is outside of it', () => {
    const [, table] = renderInspect({ ...after, wal: null }).split('\n\n');
    expect(table).toMatch(/words +Inverted +text +2 +5 \(1 %\) +2026-01-02T03:04:05\.000Z +2 KiB/);
    expect(renderInspect(after)).not.toContain('hold');
    const held = { ...after, hold: { since: '2026-01-02T03:04:05.000Z', heldFragments: 3 } };
    expect(renderInspect(held)).toMatch(/hold +on 3 fragments since 2026-01-02T03:04:05\.000Z/);
  });

  it('lists each shard of an inspected table', () => {
    expect(renderInspect(before)).toContain('MemWAL      1 shard, 12 generations pending (100 rows, 2 KiB)');
    expect(renderInspect(before)).toMatch(/s-1 +0 +12 +100 +2 KiB +2026-01-02T03:04:05\.000Z/);
  });

  it('says how many rows an index does not cover', () => {
    const index = {
      name: 'id_idx',
      kind: 'BTree',
      coveredFragments: 1,
      uncoveredFragments: 2,
      unindexedRows: 1_500,
      filesMissing: false,
    };

    expect(renderInspect(inspectReport({ keyIndex: index }))).toContain('id_idx, BTree, 1,500 rows not covered');
  });
});

describe('the outcome of a task', () => {
  it('says what a compaction did', () => {
    expect(describeOutcome(taskReport())).toBe('40 fragments into 1, 2 KiB written, version 7 -> 9');
  });

  it('says when there was nothing to change', () => {
    const result = { rewroteNothing: true, versionBefore: 7, versionAfter: 7, metrics: {}, proof: {} };
    expect(describeOutcome(taskReport({ result }))).toBe('nothing to change at version 7');
  });

  it('gives the code of the error of a failed task', () => {
    const error = { code: 'KEY_COLUMN_MISSING', message: 'no id', disposition: 'permanent' as const };
    expect(describeOutcome(taskReport({ state: 'failed', result: null, error }))).toBe('KEY_COLUMN_MISSING: no id');
  });

  it('names what a waiting task waits for', () => {
    expect(describeOutcome(taskReport({ state: 'waiting', result: null, dependsOn: ['a', 'b'] }))).toBe(
      'waits for a, b',
    );
  });
});

describe('the screen of an error', () => {
  const thrown = new UpkeepError('The table is gone.', {
    code: 'TABLE_NOT_FOUND',
    disposition: 'permanent',
    next: 'Look elsewhere.',
  });

  it('says what, why and what next', () => {
    expect(renderError(thrown, { debug: false, paint: plain })).toBe(
      'error TABLE_NOT_FOUND: The table is gone.\n  next: Look elsewhere.\n',
    );
  });

  it('finds the code inside of wrappings and shows stacks only with --debug', () => {
    const wrapped = new Error('outer', { cause: new Error('middle', { cause: thrown }) });

    expect(renderError(wrapped, { debug: false, paint: plain })).not.toContain('rendering.test');
    const debugged = renderError(wrapped, { debug: true, paint: plain });
    expect(debugged).toContain('error TABLE_NOT_FOUND');
    expect(debugged).toContain('caused by: UpkeepError: The table is gone.');
    expect(debugged).toContain('rendering.test');
  });

  it('stays on one screen however long the message is', () => {
    const screen = renderError(new Error('x\n'.repeat(50_000)), { debug: false, paint: plain });

    expect(screen.length).toBeLessThan(24 * 80);
    expect(screen.split('\n').length).toBeLessThan(24);
    expect(screen).toContain('--debug');
  });
});
