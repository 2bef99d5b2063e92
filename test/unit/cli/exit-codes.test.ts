import { describe, expect, it } from 'vitest';
import { exitCodeForError, exitCodeForRun, exitCodeForStatus, exitCodeForTask } from '../../../src/cli/exit-codes.ts';
import type { ErrorRecord } from '../../../src/errors.ts';
import type { RunReport } from '../../../src/upkeep/reports.ts';
import { inspectReport, taskReport } from './fake-upkeep.ts';

function error(code: string, disposition: ErrorRecord['disposition'] = 'permanent'): ErrorRecord {
  return { code, disposition, message: 'why' };
}

function runReport(over: Partial<RunReport>): RunReport {
  return { schemaVersion: 1, tasks: [], tables: [], unreadable: [], leftOut: [], ...over };
}

const other = '/data/db/other.lance';
const done = taskReport();
const failed = taskReport({ state: 'failed', result: null, error: error('KEY_COLUMN_MISSING') });
const contended = taskReport({ state: 'queued', result: null, error: error('LEASE_LOST', 'contention') });
const retried = taskReport({ state: 'queued', result: null, error: error('UNEXPECTED', 'failure') });

describe('the exit code of an error', () => {
  it.each([
    ['SETTING_UNKNOWN', 2],
    ['SETTING_INVALID', 2],
    ['TARGET_INVALID', 2],
    ['TARGET_OUTSIDE_ROOTS', 2],
    ['MESSAGE_FIELD_UNKNOWN', 2],
    ['DEMO_DIRECTORY_NOT_EMPTY', 2],
    ['TABLE_NOT_FOUND', 5],
    ['ROOT_NOT_FOUND', 5],
    ['MANIFEST_UNSUPPORTED', 1],
    ['SOMETHING_NEW', 1],
  ])('%s is %i', (code, expected) => {
    expect(exitCodeForError(error(code))).toBe(expected);
  });

  it('is 75 for any error that says somebody else was faster', () => {
    expect(exitCodeForError(error('WATERMARK_CONFLICT', 'contention'))).toBe(75);
    expect(exitCodeForError(error('SOMETHING_NEW', 'contention'))).toBe(75);
  });

  it('follows the code before the disposition', () => {
    expect(exitCodeForError(error('DEPENDENCY_UNKNOWN', 'contention'))).toBe(5);
  });
});

describe('the exit code of a run', () => {
  it('is 0 when nothing was due or all is done', () => {
    expect(exitCodeForRun(runReport({}))).toBe(0);
    expect(exitCodeForRun(runReport({ tasks: [done], tables: [inspectReport()] }))).toBe(0);
  });

  it('is 1 when all that was tried failed', () => {
    expect(exitCodeForRun(runReport({ tasks: [failed], tables: [inspectReport()] }))).toBe(1);
    expect(exitCodeForRun(runReport({ unreadable: [{ target: other, error: error('MANIFEST_UNREADABLE') }] }))).toBe(1);
  });

  it('is 4 when one table failed and another is fine', () => {
    const tables = [inspectReport(), inspectReport({ target: other })];
    expect(exitCodeForRun(runReport({ tasks: [failed], tables }))).toBe(4);
    const unreadable = [{ target: other, error: error('MANIFEST_UNREADABLE') }];
    expect(exitCodeForRun(runReport({ tables: [inspectReport()], unreadable }))).toBe(4);
  });

  it('is 4 when a task was done in part and nothing is queued for the rest', () => {
    const result = { rewroteNothing: false, versionBefore: 1, versionAfter: 2, metrics: {}, proof: {} };
    const partial = taskReport({ result: { ...result, partial: 'shard b failed' } });
    const followed = taskReport({
      result: { ...result, partial: 'out of time', followUp: { kind: 'MergeWal', reason: 'rest' } },
    });
    expect(exitCodeForRun(runReport({ tasks: [partial] }))).toBe(4);
    expect(exitCodeForRun(runReport({ tasks: [followed] }))).toBe(0);
  });

  it('is 75 when all that is left lost a race or waits', () => {
    expect(exitCodeForRun(runReport({ tasks: [done, contended] }))).toBe(75);
    expect(exitCodeForRun(runReport({ tasks: [taskReport({ state: 'waiting', result: null })] }))).toBe(75);
  });

  it('counts a task that waits to be tried again after a failure as failed', () => {
    expect(exitCodeForRun(runReport({ tasks: [retried] }))).toBe(1);
  });
});

describe('the exit codes of status and of a task that was waited for', () => {
  it('is 3 as soon as one table needs attention', () => {
    const table = { target: other, facts: null, openTasks: [], reasons: [], attention: false };
    const report = { schemaVersion: 1, pauses: [], leftOut: [] } as const;
    expect(exitCodeForStatus({ ...report, tables: [table] })).toBe(0);
    expect(exitCodeForStatus({ ...report, tables: [table, { ...table, attention: true }] })).toBe(3);
  });

  it('follows the error of the task', () => {
    expect(exitCodeForTask(done)).toBe(0);
    expect(exitCodeForTask(failed)).toBe(1);
    expect(exitCodeForTask(taskReport({ state: 'failed', error: error('TABLE_NOT_FOUND') }))).toBe(5);
    expect(exitCodeForTask(contended)).toBe(75);
    expect(exitCodeForTask(taskReport({ state: 'queued', result: null }))).toBe(75);
  });

  it('does not hold the error of an earlier attempt against a task that is done', () => {
    expect(exitCodeForTask(taskReport({ error: error('UNEXPECTED', 'failure') }))).toBe(0);
    expect(exitCodeForRun(runReport({ tasks: [taskReport({ error: error('UNEXPECTED', 'failure') })] }))).toBe(0);
  });
});
