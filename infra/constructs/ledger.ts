import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type ITable,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { DynamoEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { LEDGER_INDEXES } from '../../src/aws/dynamo-table.ts';
import { COMPACTION_PREFIX, HOLDER_ATTRIBUTE, LEASE_SK, TASK_SK } from '../../src/tasks/items.ts';
import { TTL_ATTRIBUTE } from '../../src/tasks/ports.ts';
import { deadLetterRetentionMs } from '../../src/tasks/retention.ts';
import { acknowledge } from './acknowledge.ts';
import { grantTable, RIGHTS } from './ledger-rights.ts';
import { type FunctionContext, keyOf, UpkeepFunction } from './upkeep-function.ts';
import { encryptionOf, grantSend, type WorkQueue } from './work-queue.ts';

/** The ledger's table, and the function on its stream that turns changes into messages. */
export class Ledger extends Construct {
  readonly table: Table;
  /** Batches of the stream that were given up; the sweep and recover make up for them. */
  readonly streamFailures: Queue;
  readonly #props: FunctionContext;

  constructor(scope: Construct, id: string, props: FunctionContext) {
    super(scope, id);
    this.#props = props;
    const { encryptionKey } = keyOf(this, props.settings);
    this.table = new Table(this, 'Table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
      timeToLiveAttribute: TTL_ATTRIBUTE,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      // Which task did what to which table is worth more than the stack: it stays when the stack goes.
      // A first deployment that is rolled back has nothing to remember, and leaves nothing behind; DynamoDB's own protection would
      // keep CloudFormation from that, so that it comes with a later deployment, if at all.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      deletionProtection: props.settings.deletionProtection,
      ...(encryptionKey
        ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }
        : { encryption: TableEncryption.AWS_MANAGED }),
    });
    for (const { name, partition, sort, project } of LEDGER_INDEXES) {
      this.table.addGlobalSecondaryIndex({
        indexName: name,
        partitionKey: { name: partition.name, type: AttributeType.STRING },
        sortKey: { name: sort.name, type: sort.type === 'N' ? AttributeType.NUMBER : AttributeType.STRING },
        ...(project.length > 0
          ? { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...project] }
          : { projectionType: ProjectionType.KEYS_ONLY }),
      });
    }
    this.streamFailures = new Queue(this, 'StreamFailures', {
      ...encryptionOf(this, props.settings),
      enforceSSL: true,
      retentionPeriod: Duration.millis(deadLetterRetentionMs(props.settings.settings.taskHistoryMs)),
    });
    acknowledge(
      this.streamFailures,
      'AwsSolutions-SQS3',
      'This queue is itself where failed batches of the stream end.',
    );
  }

  /** Puts the function behind the stream. */
  addStreamFunction(props: {
    readonly names: Readonly<Record<string, string>>;
    readonly queues: readonly WorkQueue[];
  }): UpkeepFunction {
    const stream = new UpkeepFunction(this, 'Stream', {
      ...this.#props,
      entry: 'ledger-stream',
      description: 'Turns changes of the ledger into messages',
      timeout: Duration.minutes(1),
      memoryMb: 512,
    });
    for (const [name, value] of Object.entries(props.names)) stream.function.addEnvironment(name, value);
    stream.function.addEventSource(
      new DynamoEventSource(this.table as ITable, {
        startingPosition: StartingPosition.TRIM_HORIZON,
        batchSize: 100,
        reportBatchItemFailures: true,
        bisectBatchOnError: true,
        retryAttempts: 10,
        maxRecordAge: Duration.hours(1),
        // Not SqsDlq: the rights that it would give are below, without its wildcards.
        onFailure: { bind: () => ({ destination: this.streamFailures.queueArn }) },
        filters: [...STREAM_FILTERS],
      }),
    );
    acknowledge(stream.role, 'AwsSolutions-IAM5[Resource::*]', 'dynamodb:ListStreams cannot be limited to a resource.');
    grantTable(this.table, stream.role, RIGHTS.decide);
    grantSend(stream.role, [...props.queues.map(({ queue }) => queue), this.streamFailures]);
    return stream;
  }
}

/** What is removed, by time above all, is no event; nor is a lease that somebody holds. */
const CHANGED = FilterRule.or('INSERT', 'MODIFY');
const STREAM_FILTERS = [
  FilterCriteria.filter({ eventName: CHANGED, dynamodb: { Keys: { sk: { S: FilterRule.isEqual(TASK_SK) } } } }),
  FilterCriteria.filter({
    eventName: CHANGED,
    dynamodb: {
      Keys: { sk: { S: FilterRule.isEqual(LEASE_SK) } },
      NewImage: { [HOLDER_ATTRIBUTE]: { S: FilterRule.notExists() } },
    },
  }),
  FilterCriteria.filter({
    eventName: CHANGED,
    dynamodb: { Keys: { sk: { S: FilterRule.beginsWith(COMPACTION_PREFIX) } } },
  }),
];
