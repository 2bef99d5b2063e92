import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { SweepKind } from '../../src/fleet/demand.ts';
import { TASK_KINDS } from '../../src/tasks/task.ts';
import { quietSpanMs } from '../quiet-hours.ts';
import type { StackSettings } from '../settings.ts';
import { addDashboard } from './dashboard.ts';
import { UpkeepMetrics } from './upkeep-metrics.ts';
import type { Watched, WatchProps } from './watched.ts';
import { watchedFunctions, watchedQueues } from './watched-resources.ts';

const QUARTER_HOUR = Duration.minutes(15);
const DAY_MS = 86_400_000;

/** Alarms by severity, and the dashboard. */
export class Watch extends Construct {
  constructor(scope: Construct, id: string, props: WatchProps) {
    super(scope, id);
    const { settings } = props;
    const topic = settings.alarmTopicArn && Topic.fromTopicArn(this, 'Topic', settings.alarmTopicArn);
    for (const watched of everythingWatched(props)) {
      for (const [severity, threshold] of Object.entries(watched.from)) {
        this.#alarm(`${settings.stackName}-${severity}-${watched.name}`, watched, threshold, topic || undefined);
      }
    }
    addDashboard(this, props);
  }

  #alarm(alarmName: string, watched: Watched, threshold: number, topic: ITopic | undefined): void {
    const { metric, silence = false, periods = 1, runbook } = watched;
    const alarm = new Alarm(this, alarmName, {
      alarmName,
      alarmDescription: `docs/operations.md, "${runbook}"`,
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: silence
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: silence ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    if (!topic) return;
    const action = new SnsAction(topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}

function everythingWatched(props: WatchProps): readonly Watched[] {
  const metrics = new UpkeepMetrics(props.settings.stackName);
  return [
    ...props.queues.map((queue) => deadLetters(`dead-letters-${queue.kind}`, queue.deadLetters, 'Dead letters')),
    deadLetters('stream-failures', props.ledger.streamFailures, 'The stream fails'),
    ...watchedFunctions(props),
    ...watchedQueues(props),
    ...backlog(props.settings, metrics),
    ...tasks(metrics),
    ...passes(props.settings, metrics),
    {
      name: 'stream-late',
      metric: props.stream.function.metric('IteratorAge', { statistic: 'Maximum', period: Duration.minutes(5) }),
      from: { warning: 300_000 },
      runbook: 'The stream fails',
    },
  ];
}

/** By what is there, not by what was sent: SQS itself moves dead letters without counting them as sent. */
function deadLetters(name: string, queue: Queue, runbook: string): Watched {
  const metric = queue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: Duration.minutes(5) });
  return { name, metric, from: { warning: 1 }, runbook };
}

function backlog({ settings, quietHours }: StackSettings, metrics: UpkeepMetrics): readonly Watched[] {
  const tailMs = settings.mergeWalTailIntervalMs;
  const indexMs = settings.indexTailIntervalMs;
  // Nothing is merged or indexed meanwhile, and a page each morning is soon ignored.
  const quietMs = quietSpanMs(quietHours);
  const runbook = 'Backlog grows on a table';
  return [
    {
      name: 'oldest-pending',
      metric: metrics.backlog('OldestPendingMs', QUARTER_HOUR),
      from: { warning: 2 * tailMs + quietMs, critical: 6 * tailMs + quietMs },
      runbook,
    },
    {
      name: 'pile-up-of-shard',
      metric: metrics.backlog('MostPendingOfShard', QUARTER_HOUR),
      from: { warning: 512, critical: 4_096 },
      runbook,
    },
    // Many shards of a table can each stay below the limit of one, and its readers pay for all of them.
    {
      name: 'pile-up-of-table',
      metric: metrics.backlog('MostPendingOfTable', QUARTER_HOUR),
      from: { warning: 1_024, critical: 4_096 },
      runbook,
    },
    {
      name: 'index-outside',
      metric: metrics.backlog('OldestOutsideIndexMs', QUARTER_HOUR),
      from: { warning: 6 * indexMs + quietMs, critical: 24 * indexMs + quietMs },
      runbook: 'An index falls behind',
    },
    {
      name: 'hold-left',
      metric: metrics.backlog('HoldsLeft', QUARTER_HOUR),
      from: { warning: 1 },
      runbook: 'An index falls behind',
    },
  ];
}

function tasks(metrics: UpkeepMetrics): readonly Watched[] {
  return [
    ...TASK_KINDS.map((kind) => ({
      name: `failed-${kind}`,
      metric: metrics.tasks(kind, 'failed', QUARTER_HOUR),
      from: { warning: 1, critical: 20 },
      runbook: 'Tasks fail',
    })),
    {
      name: 'leases-recovered',
      metric: metrics.recover('AttemptsEnded', QUARTER_HOUR),
      from: { warning: 3, critical: 20 },
      runbook: 'Leases are recovered',
    },
  ];
}

function passes({ settings, quietHours }: StackSettings, metrics: UpkeepMetrics): readonly Watched[] {
  const intervals: readonly (readonly [SweepKind, number])[] = [
    ['compaction', settings.compactionIntervalMs],
    ['merge', settings.mergeWalIntervalMs],
    ['tails', settings.mergeWalTailIntervalMs],
  ];
  const silent = intervals.map(([kind, intervalMs]): Watched => {
    // Three in a row are missing; with quiet hours only a whole day tells anything.
    const period = Duration.millis(quietHours ? DAY_MS : Math.min(DAY_MS, 3 * intervalMs));
    const name = `no-${kind}-sweep`;
    return {
      name,
      metric: metrics.sweepsRun(kind, period),
      from: { critical: 1 },
      silence: true,
      runbook: 'No sweep runs',
    };
  });
  const unreadable = intervals.map(([kind], index) => ({
    id: String.fromCharCode(97 + index),
    failed: metrics.sweep('TablesFailed', kind, QUARTER_HOUR),
    read: metrics.sweep('TablesRead', kind, QUARTER_HOUR),
  }));
  const sum = (of: 'f' | 'r') => unreadable.map(({ id }) => `FILL(${of}${id},0)`).join('+');
  const share = new MathExpression({
    label: 'percent of tables that could not be read',
    expression: `100*(${sum('f')})/((${sum('f')})+(${sum('r')}))`,
    usingMetrics: Object.fromEntries(
      unreadable.flatMap(({ id, failed, read }) => [[`f${id}`, failed] as const, [`r${id}`, read] as const]),
    ),
    period: QUARTER_HOUR,
  });
  return [
    ...silent,
    ...intervals.map(([kind]) => ({
      name: `sweep-out-of-time-${kind}`,
      metric: metrics.sweep('TablesSkipped', kind, QUARTER_HOUR),
      from: { warning: 1 },
      runbook: 'A sweep runs out of time',
    })),
    {
      name: 'recover-errors',
      metric: metrics.recover('RecoverErrors', QUARTER_HOUR),
      from: { warning: 3, critical: 50 },
      runbook: 'Recovery fails',
    },
    {
      name: 'no-recover',
      metric: metrics.recoversRun(Duration.minutes(5)),
      from: { critical: 1 },
      silence: true,
      runbook: 'No sweep runs',
    },
    // More than nothing is worth a look; half of them is an outage, of S3 or of the rights on it.
    {
      name: 'tables-unreadable',
      metric: share,
      from: { warning: 0.01, critical: 50 },
      runbook: 'Tables cannot be read',
    },
  ];
}
