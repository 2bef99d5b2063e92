import { Duration } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { deadLetterRetentionMs } from '../../src/tasks/retention.ts';
import { concurrencyCap, type TaskKind } from '../../src/tasks/task.ts';
import { LEAST_EVENT_SOURCE_CAP } from '../aws-limits.ts';
import type { UpkeepFunction } from './upkeep-function.ts';
import type { Watched, WatchProps } from './watched.ts';

const QUARTER_HOUR = Duration.minutes(15);
const HOUR_S = 3_600;

/** Each function's own errors and throttles, as Lambda counts them: also of one that dies before it can say anything. */
export function watchedFunctions({ workers, sweep, stream, settings }: WatchProps): readonly Watched[] {
  const functions: readonly (readonly [string, UpkeepFunction])[] = [...workers, ['sweep', sweep], ['stream', stream]];
  return functions.flatMap(([name, { function: one }]): readonly Watched[] => [
    {
      name: `errors-${name}`,
      metric: one.metricErrors({ statistic: 'Sum', period: QUARTER_HOUR }),
      from: { warning: 1, critical: 20 },
      runbook: 'A function fails or is throttled',
    },
    {
      name: `throttles-${name}`,
      metric: one.metricThrottles({ statistic: 'Sum', period: QUARTER_HOUR }),
      from: throttlesFrom(name, (kind) => concurrencyCap(kind, settings.settings), workers),
      runbook: 'A function fails or is throttled',
    },
  ]);
}

/** With a cap of 1 no event source holds the pollers back, and sending them away is how that cap is kept. */
function throttlesFrom(name: string, capOf: (kind: TaskKind) => number, workers: WatchProps['workers']) {
  const kind = [...workers.keys()].find((one) => one === name);
  return kind !== undefined && capOf(kind) < LEAST_EVENT_SOURCE_CAP
    ? { warning: 2_000 }
    : { warning: 1, critical: 200 };
}

/** How long the oldest message of each queue waits: of queues for its function, of dead letters for a person before they are gone. */
export function watchedQueues({ queues, ledger, settings }: WatchProps): readonly Watched[] {
  const age = (queue: Queue) =>
    queue.metricApproximateAgeOfOldestMessage({ statistic: 'Maximum', period: Duration.minutes(5) });
  const keptS = deadLetterRetentionMs(settings.settings.taskHistoryMs) / 1_000;
  const expiring = (name: string, queue: Queue, runbook: string): Watched => ({
    name: `dead-letters-expire-${name}`,
    metric: age(queue),
    from: { critical: Math.floor(keptS * 0.75) },
    runbook,
  });
  return [
    ...queues.map(({ kind, queue }) => ({
      name: `oldest-message-${kind}`,
      metric: age(queue),
      from: { warning: HOUR_S, critical: 6 * HOUR_S },
      runbook: 'A function fails or is throttled',
    })),
    ...queues.map(({ kind, deadLetters }) => expiring(kind, deadLetters, 'Dead letters')),
    expiring('stream', ledger.streamFailures, 'The stream fails'),
  ];
}
