import type { ProgressEvent } from '../upkeep/reports.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export interface ProgressLogOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  /** The function's queue, for events that belong to no task. */
  readonly queue?: string;
  /** Id of the current invocation. */
  readonly requestId?: () => string;
}

const LEVELS: Partial<Record<ProgressEvent['stage'], 'error' | 'warn'>> = {
  failed: 'error',
  'dead-letter': 'error',
  retry: 'warn',
};
/** The outcome of an attempt or a message. A message that never became a task is not a failed task. */
const OUTCOMES: readonly ProgressEvent['stage'][] = ['done', 'retry', 'failed', 'dead-letter'];

/** Writes each event as one line. Events that end something are also counted, by kind and outcome. */
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
