import { describe, expect, it } from 'vitest';
import { metricNamespace } from '../../src/aws/metrics.ts';
import { STACK_VARIABLE } from '../../src/aws/names.ts';
import { jsonOf } from './fixtures/synthesized.ts';
import { resourcesOf } from './fixtures/template.ts';

interface AlarmProperties {
  readonly AlarmName: string;
  readonly AlarmDescription: string;
  readonly Threshold: number;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly AlarmActions?: readonly unknown[];
}

async function alarms(context: Readonly<Record<string, string>> = {}): Promise<ReadonlyMap<string, AlarmProperties>> {
  const found = resourcesOf(await jsonOf(context), 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => {
    const alarm = Properties as unknown as AlarmProperties;
    return [alarm.AlarmName.replace('LanceUpkeep-', ''), alarm] as const;
  });
  return new Map(found);
}

describe('the alarms', () => {
  it.each([
    'warning-dead-letters-Compact',
    'warning-dead-letters-IndexId',
    'warning-dead-letters-MergeWal',
    'warning-dead-letters-OptimizeIndices',
    'warning-dead-letters-Prune',
    'warning-stream-failures',
    'warning-oldest-pending',
    'critical-oldest-pending',
    'critical-pile-up-of-shard',
    'critical-pile-up-of-table',
    'warning-leases-recovered',
    'warning-failed-MergeWal',
    'critical-no-compaction-sweep',
    'critical-no-merge-sweep',
    'critical-no-tails-sweep',
    'critical-no-recover',
    'critical-tables-unreadable',
    'warning-index-outside',
    'warning-hold-left',
  ])('include %s', async (name) => {
    expect([...(await alarms()).keys()]).toContain(name);
  });

  it('ring for a table of 20 shards with 300 generations each, which no shard’s own limit sees', async () => {
    const all = await alarms();
    expect(all.get('critical-pile-up-of-shard')?.Threshold).toBe(4_096);
    expect(all.get('critical-pile-up-of-table')?.Threshold).toBeLessThanOrEqual(20 * 300);
  });

  it('look at what lies among the dead letters, not at what was sent there', async () => {
    const alarm = (await alarms()).get('warning-dead-letters-MergeWal');
    expect(alarm).toMatchObject({ MetricName: 'ApproximateNumberOfMessagesVisible', Threshold: 1 });
  });

  it('ring when a sweep says nothing at all, and stay quiet about other silences', async () => {
    for (const [name, alarm] of await alarms()) {
      expect(alarm.TreatMissingData, name).toBe(name.startsWith('critical-no-') ? 'breaching' : 'notBreaching');
    }
  });

  it('never look at one table: dimensions are kind, outcome and stage only', async () => {
    const own = [...(await alarms()).values()].filter(({ Namespace }) => Namespace === 'LanceUpkeep/LanceUpkeep');
    expect(own.length).toBeGreaterThan(5);
    for (const { Dimensions = [] } of own) {
      for (const { Name } of Dimensions) expect(['kind', 'outcome', 'stage']).toContain(Name);
    }
  });

  it('and the dashboard look at the metrics that this stack’s functions write, not at another stack’s', async () => {
    const template = await jsonOf({ stackName: 'Lake' });
    for (const [id, { Properties }] of resourcesOf(template, 'AWS::Lambda::Function')) {
      const { Variables } = Properties.Environment as { Variables: Record<string, string> };
      expect(metricNamespace(Variables[STACK_VARIABLE]), id).toBe('LanceUpkeep/Lake');
    }
    const text = JSON.stringify(template);
    expect(text).toContain('LanceUpkeep/Lake');
    expect(text).not.toMatch(/LanceUpkeep\/(?!Lake)/);
  });

  it('name the section of the runbook that says where to look', async () => {
    for (const { AlarmDescription } of (await alarms()).values())
      expect(AlarmDescription).toMatch(/^docs\/operations\.md, "/);
  });

  it('report to your topic when you name one', async () => {
    const alarmTopicArn = 'arn:aws:sns:us-east-1:111122223333:pager';
    for (const alarm of (await alarms({ alarmTopicArn })).values()) expect(alarm.AlarmActions).toEqual([alarmTopicArn]);
    for (const alarm of (await alarms()).values()) expect(alarm.AlarmActions).toBeUndefined();
  });

  it('can be left out, and the dashboard with them', async () => {
    const template = await jsonOf({ alarms: 'false' });
    expect(resourcesOf(template, 'AWS::CloudWatch::Alarm')).toEqual([]);
    expect(resourcesOf(template, 'AWS::CloudWatch::Dashboard')).toEqual([]);
  });
});

describe('every function and every queue', () => {
  /** Whatever an alarm looks at, by the part that its metric is about. */
  async function watchedResources(metric: string, context: Readonly<Record<string, string>> = {}) {
    return [...(await alarms(context)).values()]
      .filter(({ MetricName }) => MetricName === metric)
      .map(({ Dimensions }) => JSON.stringify(Dimensions));
  }

  it.each(['Errors', 'Throttles'])('of a function has an alarm on its %s', async (metric) => {
    const parts = await watchedResources(metric);
    const functions = resourcesOf(await jsonOf(), 'AWS::Lambda::Function');
    expect(functions).toHaveLength(7);
    for (const [id] of functions) expect(parts.join(), id).toContain(`"${id}"`);
  });

  it('of a queue has an alarm on the age of its oldest message, before that message is dropped', async () => {
    const template = await jsonOf();
    const queues = resourcesOf(template, 'AWS::SQS::Queue');
    expect(queues).toHaveLength(11);
    const ages = [...(await alarms()).values()].filter(
      ({ MetricName }) => MetricName === 'ApproximateAgeOfOldestMessage',
    );
    for (const [id, { Properties }] of queues) {
      const own = ages.filter(({ Dimensions }) => JSON.stringify(Dimensions).includes(`"${id}"`));
      expect(own.length, id).toBeGreaterThan(0);
      for (const { Threshold } of own) expect(Threshold, id).toBeLessThan(Number(Properties.MessageRetentionPeriod));
    }
  });

  it('and what recover reports itself, and tables that a sweep had no time for', async () => {
    const all = await alarms();
    expect(all.get('warning-recover-errors')).toMatchObject({ MetricName: 'RecoverErrors' });
    expect(all.get('warning-sweep-out-of-time-merge')).toMatchObject({ Threshold: 1 });
  });

  it('the pollers of a queue with a cap of 1 may be sent away: that is how the cap is kept', async () => {
    const all = await alarms({ MERGE_WAL_CONCURRENCY: '1' });
    expect(all.get('warning-throttles-MergeWal')?.Threshold).toBeGreaterThan(1_000);
    expect(all.get('warning-throttles-Compact')?.Threshold).toBe(1);
  });
});

describe('with quiet hours', () => {
  const HOUR = 3_600_000;

  it.each([
    ['22-6', 8],
    ['0-12', 12],
    ['6-22', 16],
  ])('of %s what waits may be %i hours older before an alarm rings', async (quietHours, hours) => {
    const [loud, quiet] = [await alarms(), await alarms({ quietHours })];
    for (const name of ['warning-oldest-pending', 'critical-oldest-pending', 'warning-index-outside']) {
      expect((quiet.get(name)?.Threshold ?? 0) - (loud.get(name)?.Threshold ?? 0), name).toBe(hours * HOUR);
    }
  });
});

describe('the dashboard', () => {
  it('shows backlog, queues, durations, conflicts and cost', async () => {
    const [dashboard] = resourcesOf(await jsonOf(), 'AWS::CloudWatch::Dashboard');
    const body = JSON.stringify(dashboard?.[1].Properties.DashboardBody);
    for (const title of ['Backlog', 'Queues', 'Durations', 'Conflicts', 'Cost']) expect(body).toContain(title);
  });
});
