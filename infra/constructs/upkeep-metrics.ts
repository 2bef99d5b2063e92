import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNamespace } from '../../src/aws/metrics.ts';
import { BACKLOG_STAGE, type Backlog } from '../../src/fleet/backlog.ts';
import type { SweepKind } from '../../src/fleet/demand.ts';
import type { TaskKind } from '../../src/tasks/task.ts';

const PERIOD = Duration.minutes(5);

/** The metrics of one stack, by the names that src/aws writes them under in CloudWatch's embedded metric format. */
export class UpkeepMetrics {
  readonly #namespace: string;

  constructor(stackName: string) {
    this.#namespace = metricNamespace(stackName);
  }

  backlog(name: keyof Backlog & string, period?: Duration): Metric {
    return this.#metric(name, { stage: BACKLOG_STAGE }, Stats.MAXIMUM, period);
  }

  tasks(kind: TaskKind, outcome: 'done' | 'retry' | 'failed' | 'dead-letter', period?: Duration): Metric {
    return this.#metric('Tasks', { kind, outcome }, Stats.SUM, period).with({ label: `${kind} ${outcome}` });
  }

  sweep(
    name: 'TablesRead' | 'TablesFailed' | 'TablesSkipped' | 'TasksAsked',
    sweep: SweepKind,
    period?: Duration,
  ): Metric {
    return this.#metric(name, { stage: `sweep-${sweep}` }, Stats.SUM, period).with({ label: `${name} (${sweep})` });
  }

  /** How often a sweep came to its end. */
  sweepsRun(sweep: SweepKind, period: Duration): Metric {
    return this.#metric('TablesRead', { stage: `sweep-${sweep}` }, Stats.SAMPLE_COUNT, period);
  }

  recover(name: 'AttemptsEnded' | 'TasksWoken' | 'RecoverErrors', period?: Duration): Metric {
    return this.#metric(name, { stage: 'recover' }, Stats.SUM, period);
  }

  /** How often the minute's repair came to its end. */
  recoversRun(period: Duration): Metric {
    return this.#metric('AttemptsEnded', { stage: 'recover' }, Stats.SAMPLE_COUNT, period);
  }

  #metric(metricName: string, dimensionsMap: Record<string, string>, statistic: string, period = PERIOD): Metric {
    return new Metric({ namespace: this.#namespace, metricName, dimensionsMap, statistic, period });
  }
}
