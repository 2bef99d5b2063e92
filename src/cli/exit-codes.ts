import type { ErrorRecord } from '../errors.ts';
import type { RunReport, StatusReport, TaskReport } from '../upkeep/reports.ts';

/** Exit codes of every command: documented in docs/cli.md and stable. */
export const EXIT = {
  fine: 0,
  failure: 1,
  usage: 2,
  attention: 3,
  partly: 4,
  notFound: 5,
  tryAgain: 75,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_ERROR_CODE: Readonly<Record<string, ExitCode>> = {
  USAGE: EXIT.usage,
  ROOTS_MISSING: EXIT.usage,
  ROOT_INVALID: EXIT.usage,
  SETTING_INVALID: EXIT.usage,
  SETTING_UNKNOWN: EXIT.usage,
  TARGET_INVALID: EXIT.usage,
  TARGET_OUTSIDE_ROOTS: EXIT.usage,
  TASK_ID_MISMATCH: EXIT.usage,
  CURSOR_INVALID: EXIT.usage,
  DEPENDENCY_CYCLE: EXIT.usage,
  DEPENDENCIES_TOO_MANY: EXIT.usage,
  DEMO_DIRECTORY_NOT_EMPTY: EXIT.usage,
  DEMO_DIRECTORY_UNUSABLE: EXIT.usage,
  RUN_ON_STACK: EXIT.usage,
  CLOUD_NAME_MISSING: EXIT.usage,
  DEPENDENCY_UNKNOWN: EXIT.notFound,
  ROOT_NOT_FOUND: EXIT.notFound,
  TABLE_NOT_FOUND: EXIT.notFound,
  STACK_NOT_FOUND: EXIT.notFound,
  DEAD_LETTER_NOT_FOUND: EXIT.notFound,
  PAUSE_NOT_FOUND: EXIT.notFound,
};

/** Classifies by the code first, then by the disposition; never by the message. */
export function exitCodeForError(error: Pick<ErrorRecord, 'code' | 'disposition'>): ExitCode {
  const known = BY_ERROR_CODE[error.code];
  if (known !== undefined) return known;
  if (error.code.startsWith('MESSAGE_')) return EXIT.usage;
  return error.disposition === 'contention' ? EXIT.tryAgain : EXIT.failure;
}

/**
 * 0 when every task ended well; 1 when something failed and nothing went well; 4 when some did and some did not;
 * 75 when all that is left is work that somebody else holds or that lost a race.
 */
export function exitCodeForRun(report: RunReport): ExitCode {
  const bad = new Set<string>(report.unreadable.map((table) => table.target));
  for (const task of report.tasks) if (hasFailed(task)) bad.add(task.target);
  if (bad.size > 0) {
    const wentWell =
      report.tasks.some((task) => task.state === 'done') || report.tables.some((table) => !bad.has(table.target));
    return wentWell ? EXIT.partly : EXIT.failure;
  }
  if (report.tasks.some(isPartial)) return EXIT.partly;
  if (report.tasks.some((task) => task.state !== 'done')) return EXIT.tryAgain;
  return EXIT.fine;
}

/** 3 when any table needs a person. */
export function exitCodeForStatus(report: StatusReport): ExitCode {
  return report.tables.some((table) => table.attention) ? EXIT.attention : EXIT.fine;
}

/** The code of one task that was waited for. */
export function exitCodeForTask(task: TaskReport): ExitCode {
  if (task.state === 'done') return isPartial(task) ? EXIT.partly : EXIT.fine;
  if (task.error) return exitCodeForError(task.error);
  return task.state === 'failed' ? EXIT.failure : EXIT.tryAgain;
}

/** Ended as failed, or left for a later attempt after one that failed. */
export function hasFailed(task: TaskReport): boolean {
  if (task.state === 'failed') return true;
  return task.state !== 'done' && task.error !== null && task.error.disposition !== 'contention';
}

/** Done in part, with nothing queued to do the rest. */
function isPartial(task: TaskReport): boolean {
  return task.state === 'done' && task.result?.partial !== undefined && task.result.followUp === undefined;
}
