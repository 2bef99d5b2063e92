import { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import { CfnSchedule, CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { SweepEvent } from '../../lambdas/sweep.ts';
import { scheduleExpression } from '../quiet-hours.ts';
import { grantRoots } from './data-access.ts';
import { grantTable, RIGHTS } from './ledger-rights.ts';
import { type FunctionContext, serviceOfThisAccount, UpkeepFunction } from './upkeep-function.ts';
import { grantSend, type WorkQueue } from './work-queue.ts';

export interface SweepsProps extends FunctionContext {
  readonly ledger: Table;
  readonly queues: readonly WorkQueue[];
  /** Names of table and queues, as the function reads them. */
  readonly names: Readonly<Record<string, string>>;
}

const MINUTE_MS = 60_000;

/** The scheduled passes: three that look at the tables, and the minute's repair, which knows no quiet hours. */
export class Sweeps extends Construct {
  readonly sweep: UpkeepFunction;

  constructor(scope: Construct, id: string, props: SweepsProps) {
    super(scope, id);
    const { settings, packages } = props;
    this.sweep = new UpkeepFunction(this, 'Sweep', {
      settings,
      packages,
      entry: 'sweep',
      description: 'Looks at every table, asks for what it needs, and repairs what was lost',
      timeout: Duration.minutes(9),
      memoryMb: 1024,
    });
    for (const [name, value] of Object.entries(props.names)) this.sweep.function.addEnvironment(name, value);
    // The next pass makes up for a failed one: repeating it by itself would only run two at once.
    this.sweep.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(5) });
    const queues = props.queues.map(({ queue }) => queue);
    grantTable(props.ledger, this.sweep.role, RIGHTS.search);
    grantSend(this.sweep.role, queues);
    this.sweep.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'Backlog',
        actions: ['sqs:GetQueueAttributes'],
        resources: queues.map(({ queueArn }) => queueArn),
      }),
    );
    grantRoots(this, this.sweep.role, { ...settings, access: 'look' });
    this.#schedule(props);
  }

  #schedule({ settings }: SweepsProps): void {
    const { compactionIntervalMs, mergeWalIntervalMs, mergeWalTailIntervalMs } = settings.settings;
    const group = new CfnScheduleGroup(this, 'Schedules');
    const role = new Role(this, 'ScheduleRole', {
      assumedBy: serviceOfThisAccount(this, 'scheduler'),
      description: 'Starts the sweeps (lance-upkeep)',
    });
    const { functionArn } = this.sweep.function;
    role.addToPrincipalPolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [functionArn] }));
    const at = (id: string, sweep: SweepEvent['sweep'], expression: string, timeZone?: string) => {
      const schedule = new CfnSchedule(this, id, {
        groupName: group.ref,
        description: `lance-upkeep: ${sweep}`,
        flexibleTimeWindow: { mode: 'OFF' },
        scheduleExpression: expression,
        ...(timeZone === undefined ? {} : { scheduleExpressionTimezone: timeZone }),
        target: {
          arn: functionArn,
          roleArn: role.roleArn,
          input: JSON.stringify({ sweep } satisfies SweepEvent),
          retryPolicy: { maximumRetryAttempts: 2, maximumEventAgeInSeconds: 300 },
        },
      });
      // The first run must find its rights in place.
      schedule.node.addDependency(role);
    };
    const { quietHours } = settings;
    const everyOne = (intervalMs: number) => scheduleExpression(intervalMs, quietHours);
    at('Compaction', 'compaction', everyOne(compactionIntervalMs), quietHours?.timeZone);
    at('Merge', 'merge', everyOne(mergeWalIntervalMs), quietHours?.timeZone);
    at('Tails', 'tails', everyOne(mergeWalTailIntervalMs), quietHours?.timeZone);
    at('Recover', 'recover', scheduleExpression(MINUTE_MS, undefined));
  }
}
