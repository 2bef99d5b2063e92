import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { METRIC_NAMESPACE } from '../../src/aws/metrics.ts';
import { BACKLOG_STAGE, type Backlog } from '../../src/fleet/backlog.ts';
import type { SweepKind } from '../../src/fleet/demand.ts';
import type { TaskKind } from '../../src/tasks/task.ts';

const PERIOD = Duration.minutes(5);

/** Names as src/aws writes them in CloudWatch's embedded metric format. */
function metric(metricName: string, dimensionsMap: Record<string, string>, statistic: string, period = PERIOD): Metric {
  return new Metric({ namespace: METRIC_NAMESPACE, metricName, dimensionsMap, statistic, period });
}

export function backlogMetric(name: keyof Backlog & string, period?: Duration): Metric {
  return metric(name, { stage: BACKLOG_STAGE }, Stats.MAXIMUM, period);
}

export function tasksMetric(kind: TaskKind, outcome: 'done' | 'retry' | 'failed', period?: Duration): Metric {
  return metric('Tasks', { kind, outcome }, Stats.SUM, period).with({ label: `${kind} ${outcome}` });
}

export function sweepMetric(
  name: 'StoresRead' | 'StoresFailed' | 'TasksAsked',
  sweep: SweepKind,
  period?: Duration,
): Metric {
  return metric(name, { stage: `sweep-${sweep}` }, Stats.SUM, period).with({ label: `${name} (${sweep})` });
}

/** How often a sweep came to its end. */
export function sweepsRun(sweep: SweepKind, period: Duration): Metric {
  return metric('StoresRead', { stage: `sweep-${sweep}` }, Stats.SAMPLE_COUNT, period);
}

export function recoverMetric(name: 'AttemptsEnded' | 'TasksNudged' | 'RecoverErrors', period?: Duration): Metric {
  return metric(name, { stage: 'recover' }, Stats.SUM, period);
}

/** How often the minute's repair came to its end. */
export function recoversRun(period: Duration): Metric {
  return metric('AttemptsEnded', { stage: 'recover' }, Stats.SAMPLE_COUNT, period);
}
