import { Duration } from 'aws-cdk-lib';
import { Dashboard, GraphWidget, type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { TASK_KINDS } from '../../src/tasks/task.ts';
import { UNIT_PRICES } from '../unit-prices.ts';
import type { UpkeepFunction } from './upkeep-function.ts';
import { UpkeepMetrics } from './upkeep-metrics.ts';
import type { WatchProps } from './watched.ts';

const HOUR = Duration.hours(1);

/** Backlog first, then the queues, how long they take, where they lose races, and what it costs. */
export function addDashboard(scope: Construct, props: WatchProps): void {
  const { settings, queues, workers, sweep } = props;
  const metrics = new UpkeepMetrics(settings.stackName);
  const graph = (title: string, left: IMetric[], right: IMetric[] = []) =>
    new GraphWidget({ title, left, right, width: 12, height: 6 });
  const visible = queues.map(({ kind, queue }) =>
    queue.metricApproximateNumberOfMessagesVisible({ label: `${kind} waiting` }),
  );
  const running = queues.map(({ kind, queue }) =>
    queue.metricApproximateNumberOfMessagesNotVisible({ label: `${kind} in hand` }),
  );
  const durations = [...workers].map(([kind, { function: worker }]) =>
    worker.metricDuration({ statistic: 'p90', label: `${kind} p90` }),
  );
  const dashboard = new Dashboard(scope, 'Dashboard', { dashboardName: settings.stackName });
  dashboard.addWidgets(
    graph(
      'Backlog: pending generations, small fragments',
      [
        metrics.backlog('PendingGenerations'),
        metrics.backlog('MostPendingOfTable'),
        metrics.backlog('MostPendingOfShard'),
      ],
      [metrics.backlog('SmallFragments')],
    ),
    graph(
      'Backlog: age of the oldest generation',
      [metrics.backlog('OldestPendingMs')],
      [metrics.backlog('PendingBytes')],
    ),
  );
  dashboard.addWidgets(
    graph('Queues: messages', visible, running),
    graph('Durations', [...durations, sweep.function.metricDuration({ statistic: 'p90', label: 'sweep p90' })]),
  );
  dashboard.addWidgets(
    graph(
      'Tasks that ended',
      TASK_KINDS.map((kind) => metrics.tasks(kind, 'done')),
      TASK_KINDS.map((kind) => metrics.tasks(kind, 'failed')),
    ),
    graph(
      'Conflicts and retries, lost attempts',
      TASK_KINDS.map((kind) => metrics.tasks(kind, 'retry')),
      [metrics.recover('AttemptsEnded')],
    ),
  );
  dashboard.addWidgets(
    graph('Sweeps', [metrics.sweep('TablesRead', 'merge')], [metrics.sweep('TablesFailed', 'merge')]),
    graph(`Cost an hour in US dollars, without S3 (prices of ${UNIT_PRICES.asOf})`, costs(props)),
  );
}

function costs({ settings, ledger, queues, workers, stream, sweep }: WatchProps): IMetric[] {
  const functions = new Map<string, UpkeepFunction>([...workers, ['stream', stream], ['sweep', sweep]]);
  const gigabyteSecond = UNIT_PRICES.lambdaGigabyteSecond[settings.architecture];
  const ofFunctions = [...functions].map(([name, { function: one, memoryMb }], index) => {
    const price = ((memoryMb / 1024) * gigabyteSecond) / 1000;
    return new MathExpression({
      label: `Lambda ${name}`,
      expression: `d${index}*${plain(price)}+i${index}*${plain(UNIT_PRICES.lambdaRequest)}`,
      usingMetrics: {
        [`d${index}`]: one.metricDuration({ statistic: 'Sum' }),
        [`i${index}`]: one.metricInvocations({ statistic: 'Sum' }),
      },
      period: HOUR,
    });
  });
  const table = (metricName: string) =>
    ledger.table.metric(metricName, { statistic: 'Sum', dimensionsMap: { TableName: ledger.table.tableName } });
  const dynamo = new MathExpression({
    label: 'DynamoDB',
    expression: `wcu*${plain(UNIT_PRICES.dynamoWriteUnit)}+rcu*${plain(UNIT_PRICES.dynamoReadUnit)}`,
    usingMetrics: { wcu: table('ConsumedWriteCapacityUnits'), rcu: table('ConsumedReadCapacityUnits') },
    period: HOUR,
  });
  const sent = queues.map(({ queue }, index) => [`q${index}`, queue.metricNumberOfMessagesSent()] as const);
  const empty = queues.map(({ queue }, index) => [`e${index}`, queue.metricNumberOfEmptyReceives()] as const);
  // A message is sent, received and deleted: three requests.
  const requests = `(3*(${sent.map(([id]) => id).join('+')})+${empty.map(([id]) => id).join('+')})`;
  const sqs = new MathExpression({
    label: 'SQS',
    expression: `${requests}*${plain(UNIT_PRICES.sqsRequest)}`,
    usingMetrics: Object.fromEntries([...sent, ...empty]),
    period: HOUR,
  });
  return [...ofFunctions, dynamo, sqs];
}

/** CloudWatch takes the e of 4e-7 for the name of a metric. */
function plain(price: number): string {
  return price.toFixed(12).replace(/0+$/, '');
}
