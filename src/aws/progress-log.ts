import type { ProgressEvent } from '../upkeep/reports.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export interface ProgressLogOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  /** Of the function's queue: for events that belong to no task. */
  readonly queue?: string;
  /** Of the call that is being answered. */
  readonly requestId?: () => string;
}

const LEVELS: Partial<Record<ProgressEvent['stage'], 'error' | 'warn'>> = {
  failed: 'error',
  'dead-letter': 'error',
  retry: 'warn',
};
/** What an attempt or a message came to. A message that never became a task is no task that failed. */
const OUTCOMES: readonly ProgressEvent['stage'][] = ['done', 'retry', 'failed', 'dead-letter'];

/** Writes each event as one line, and counts it by kind and outcome where it is the end of something. */
export function createProgressLog({
  log,
  metrics,
  queue,
  requestId,
}: ProgressLogOptions): (event: ProgressEvent) => void {
  return ({ at: _at, stage, ...event }) => {
    const kind = event.kind ?? queue;
    const subject = kind === undefined ? {} : { kind };
    log.write({
      level: LEVELS[stage] ?? 'info',
      stage,
      ...(requestId ? { requestId: requestId() } : {}),
      ...event,
      ...subject,
    });
    if (!OUTCOMES.includes(stage)) return;
    const about = Object.entries({
      target: event.target,
      taskId: event.taskId,
      code: event.code,
      messageId: event.messageId,
    });
    const known = about.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
    metrics.put({ ...subject, outcome: stage }, { Tasks: 1 }, Object.fromEntries(known));
  };
}
