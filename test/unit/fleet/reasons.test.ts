import { describe, expect, it } from 'vitest';
import { needsAttention, type ReasonInput, reasons } from '../../../src/fleet/reasons.ts';
import type { RuleResult } from '../../../src/fleet/rule-result.ts';
import { healthOf, indexFacts, openTask, tableFacts } from '../../fixtures/facts.ts';

const now = 10_000_000;
const due: RuleResult = {
  rule: 'fragments-small',
  kind: 'Compact',
  threshold: 16,
  value: 20,
  unit: 'fragments',
  due: true,
  reason: '20 fragments can be compacted (due from 16).',
};
const failing = healthOf('Compact', {
  streak: 4,
  cooldownUntil: now + 1_200_000,
  lastFailure: {
    at: now,
    taskId: 'c',
    error: { code: 'COMMIT_CONFLICT', message: 'lost the race', disposition: 'failure' },
  },
});

function messages(input: Partial<ReasonInput>): readonly string[] {
  const facts = tableFacts();
  return reasons({ facts, results: [], plan: [], openTasks: [], health: {}, lease: undefined, now, ...input });
}

describe('"why is it not running?"', () => {
  it('is answered by saying so when nothing is due', () => {
    expect(messages({})).toEqual(['Nothing is due and no task is open.']);
  });

  it('is answered for a table that was never read', () => {
    expect(messages({ facts: undefined })).toEqual(['The table has not been read yet; the next sweep does.']);
  });

  it('is answered by the error of the table, and how old the numbers are', () => {
    const error = { code: 'STORE_IO', message: 'No answer.', next: 'Try again.', disposition: 'failure' } as const;
    expect(messages({ facts: tableFacts({ error, numbersFrom: 0 }) })).toEqual([
      'STORE_IO: No answer. Try again. The numbers shown are those of 1970-01-01T00:00:00.000Z.',
    ]);
  });

  it('is answered by what is due and not asked for yet', () => {
    const plan = [{ kind: 'Compact', target: '/db/t.lance' }] as const;
    expect(messages({ results: [due], plan })).toEqual([
      'Compact is due and not asked for yet: 20 fragments can be compacted (due from 16).',
    ]);
  });

  it('is answered by the other task that what is due comes with', () => {
    const index: RuleResult = { ...due, kind: 'IndexId', rule: 'key-index-missing', reason: 'There is no index.' };
    expect(messages({ results: [index] })).toEqual(['IndexId is due, and comes with another task: There is no index.']);
  });

  it('is answered by the dependencies of a waiting task', () => {
    const task = openTask('IndexId', { state: 'waiting', pendingDependencies: ['a', 'b'] });
    expect(messages({ openTasks: [task] })).toEqual(['IndexId IndexId-1 waits for 2 tasks: a, b.']);
  });

  it('is answered by the cooldown, how long it lasts and how to pass it', () => {
    const [sentence] = messages({ openTasks: [openTask('Compact')], health: { Compact: failing } });
    expect(sentence).toBe(
      'Compact Compact-1 is queued, but Compact failed 4 times in a row here, the last time with COMMIT_CONFLICT: ' +
        'it cools down for another 20 min (`lance-upkeep send --force` passes that).',
    );
  });

  it('is not answered by a cooldown that a forced task passes, or that is over', () => {
    const ready = 'Compact Compact-1 is queued and starts as soon as its queue has room.';
    const forced = openTask('Compact', { force: true });
    expect(messages({ openTasks: [forced], health: { Compact: failing } })).toEqual([ready]);
    const over = { Compact: { ...failing, cooldownUntil: now } };
    expect(messages({ openTasks: [openTask('Compact')], health: over })).toEqual([ready]);
  });

  it('is answered by the retry and the error before it', () => {
    const error = { code: 'STORE_THROTTLED', message: 'Slow down.', disposition: 'contention' } as const;
    const task = openTask('MergeWal', { notBefore: now + 30_000, error });
    expect(messages({ openTasks: [task] })).toEqual([
      'MergeWal MergeWal-1 is tried again in 30 s after STORE_THROTTLED: Slow down.',
    ]);
  });

  it('is answered by the task that holds the table, and whether its lease has run out', () => {
    const lease = { taskId: 'm', kind: 'MergeWal', expiresAt: now + 1000 } as const;
    expect(messages({ openTasks: [openTask('Compact')], lease })).toEqual([
      'Compact Compact-1 is queued: the table is busy with MergeWal m.',
    ]);
    const [expired] = messages({ openTasks: [openTask('Compact')], lease: { ...lease, expiresAt: now - 1 } });
    expect(expired).toContain('Its lease has run out; the next recovery frees the table.');
  });

  it('is answered by the running task itself', () => {
    const task = openTask('Compact', { state: 'running', attempts: 2, attemptStartedAt: now - 5000 });
    expect(messages({ openTasks: [task], results: [due] })).toEqual([
      'Compact Compact-1 is running for 5 s (attempt 2).',
    ]);
  });
});

describe('a table that needs attention', () => {
  const error = {
    code: 'DUPLICATE_KEYS',
    message: 'Two rows have id = 7.',
    next: 'Delete one of them.',
    disposition: 'permanent',
  } as const;

  it('names the code and the repair of a permanent failure, also when nothing is due and no task is open', () => {
    const failed = healthOf('MergeWal', { streak: 1, lastFailure: { at: now, taskId: 'm', error } });
    const health = { MergeWal: failed };
    expect(needsAttention({ facts: tableFacts(), health, now, openTasks: [] })).toBe(true);
    expect(messages({ health })).toEqual([
      'MergeWal has failed for good with DUPLICATE_KEYS: Two rows have id = 7. Delete one of them.',
    ]);
    expect(messages({ health, results: [{ ...due, kind: 'MergeWal' }] })).toEqual([
      expect.stringContaining('Delete one of them.'),
    ]);
  });

  it('names the repair of what cools down, whether its task is open or not', () => {
    const lastFailure = { at: now, taskId: 'c', error: { ...error, disposition: 'failure' as const } };
    const health = { Compact: { ...failing, lastFailure } };
    for (const openTasks of [[], [openTask('Compact')]]) {
      const [sentence] = messages({ health, openTasks });
      expect(sentence).toMatch(/DUPLICATE_KEYS.*cools down.*Delete one of them\./);
    }
  });

  it('names the setting that fragments are too large for', () => {
    expect(messages({ facts: tableFacts({ tooLargeFragments: 3 }) })).toEqual([
      '3 fragments need a rewrite beyond COMPACT_MAX_BYTES, so no compaction takes them. Raise COMPACT_MAX_BYTES.',
    ]);
  });
});

describe('attention', () => {
  it('is asked for a table that cannot be read, is damaged, holds what no pass can do, or cools down', () => {
    const error = { code: 'X', message: 'x', disposition: 'permanent' } as const;
    expect(needsAttention({ facts: tableFacts(), health: {}, now, openTasks: [] })).toBe(false);
    expect(needsAttention({ facts: undefined, health: {}, now, openTasks: [] })).toBe(true);
    expect(needsAttention({ facts: tableFacts({ error }), health: {}, now, openTasks: [] })).toBe(true);
    expect(needsAttention({ facts: tableFacts({ tooLargeFragments: 1 }), health: {}, now, openTasks: [] })).toBe(true);
    expect(needsAttention({ facts: tableFacts(), health: { Compact: failing }, now, openTasks: [] })).toBe(true);
    expect(
      needsAttention({ facts: tableFacts(), health: { Compact: failing }, now: now + 1_200_001, openTasks: [] }),
    ).toBe(false);
  });

  it('is asked for a hold that no running task can have placed', () => {
    const facts = tableFacts({ hold: { createdAt: 0, heldFragments: 3 } });
    const running = [openTask('Compact', { state: 'running' })];
    expect(needsAttention({ facts, health: {}, now, openTasks: [] })).toBe(true);
    expect(needsAttention({ facts, health: {}, now, openTasks: running })).toBe(false);
    expect(messages({ facts })).toEqual([expect.stringMatching(/^HOLD_LEFT: /)]);
  });

  it('is asked for an index that could not be extended, with its repair, until it covers all rows again', () => {
    const problem = {
      subject: 'words',
      code: 'INDEX_NOT_EXTENDED',
      message: 'The index words on text could not be extended: gone',
      next: 'Build it anew.',
      disposition: 'permanent' as const,
    };
    const lastSuccess = {
      at: now,
      taskId: 't',
      versionBefore: 7,
      versionAfter: 8,
      rewroteNothing: false,
      problems: [problem],
    };
    const health = { OptimizeIndices: healthOf('OptimizeIndices', { lastSuccess }) };
    const behind = tableFacts({ indexes: [indexFacts({ name: 'words', rowsOutside: 5 })] });
    expect(needsAttention({ facts: behind, health, now, openTasks: [] })).toBe(true);
    expect(messages({ facts: behind, health })).toEqual([
      'INDEX_NOT_EXTENDED: The index words on text could not be extended: gone Build it anew.',
    ]);
    const repaired = tableFacts({ indexes: [indexFacts({ name: 'words' })] });
    expect(needsAttention({ facts: repaired, health, now, openTasks: [] })).toBe(false);
  });

  it('is asked for an index of many segments, which only its owner can build anew', () => {
    const facts = tableFacts({ indexes: [indexFacts({ segments: 32 })] });
    expect(needsAttention({ facts, health: {}, now, openTasks: [] })).toBe(true);
    expect(messages({ facts })).toEqual([
      expect.stringMatching(/^INDEX_SEGMENTS: The index vector_idx has 32 segments/),
    ]);
    const few = tableFacts({ indexes: [indexFacts({ segments: 31 })] });
    expect(needsAttention({ facts: few, health: {}, now, openTasks: [] })).toBe(false);
  });
});
