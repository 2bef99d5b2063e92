import { Duration, Size } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { ILayerVersion } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { deadLetterRetentionMs, messageRetentionMs } from '../../src/tasks/retention.ts';
import type { TaskKind } from '../../src/tasks/task.ts';
import { LEAST_EVENT_SOURCE_CAP } from '../aws-limits.ts';
import type { FunctionName } from '../packaging/function-bundle.ts';
import type { StackSettings } from '../settings.ts';
import { type DataAccess, grantRoots } from './data-access.ts';
import { grantTable, RIGHTS } from './ledger-rights.ts';
import { type FunctionContext, keyOf, UpkeepFunction } from './upkeep-function.ts';

export interface WorkQueueProps extends FunctionContext {
  readonly kind: TaskKind;
  /** Tasks of this kind that run at once, over all tables. */
  readonly concurrency: number;
}

export interface QueueWorkerProps {
  readonly entry: FunctionName;
  readonly access: DataAccess;
  readonly ledger: Table;
  readonly queues: readonly WorkQueue[];
  /** @default - none: the work loads no native library */
  readonly nativeLayer?: ILayerVersion;
  /** Names of table and queues, as the function reads them. */
  readonly names: Readonly<Record<string, string>>;
}

/** A function of a queue may take all the time that Lambda gives; it stops by itself before its end. */
const TIMEOUT = Duration.minutes(15);
/** A message whose function still runs must not be received again: AWS asks for six times the timeout. */
const VISIBILITY = Duration.minutes(6 * 15);
/**
 * Where pollers receive more than may run, those messages are hidden for all of this time: as short as Lambda allows, the
 * function's own timeout. One that comes again while its function still runs is told so by the ledger.
 */
const VISIBILITY_WITHOUT_EVENT_SOURCE_CAP = TIMEOUT;
/** Manifests and listings of one table, and no native library. */
const LIGHT_MEMORY_MB = 1024;
/** Messages that have to come again do so within a minute; one that waits for a dependency is received about 25 times in its 15 minutes. */
const RECEIVES = 50;
/** With a cap of 1 the event source cannot be held back, and pollers count receives of messages that nobody ran. */
const RECEIVES_WITHOUT_EVENT_SOURCE_CAP = 1000;

/**
 * A kind's queue, its dead letters, and its function with a cap of its own: what waits in one queue takes nothing from another.
 * The cap is the function's reserved concurrency and, from 2 on, the event source's maximum concurrency, so that no more
 * is received than can run. Without reservations it is the event source's alone, which then has to be 2 or more.
 */
export class WorkQueue extends Construct {
  readonly kind: TaskKind;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly #props: WorkQueueProps;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    this.#props = props;
    this.kind = props.kind;
    const encryption = encryptionOf(this, props.settings);
    const history = props.settings.settings.taskHistoryMs;
    this.deadLetters = new Queue(this, 'DeadLetters', {
      ...encryption,
      enforceSSL: true,
      retentionPeriod: Duration.millis(deadLetterRetentionMs(history)),
    });
    const capped = props.concurrency >= LEAST_EVENT_SOURCE_CAP;
    this.queue = new Queue(this, 'Queue', {
      ...encryption,
      enforceSSL: true,
      visibilityTimeout: capped ? VISIBILITY : VISIBILITY_WITHOUT_EVENT_SOURCE_CAP,
      retentionPeriod: Duration.millis(messageRetentionMs(history)),
      deadLetterQueue: {
        queue: this.deadLetters,
        maxReceiveCount: capped ? RECEIVES : RECEIVES_WITHOUT_EVENT_SOURCE_CAP,
      },
    });
  }

  /** Puts the function behind the queue. */
  addWorker(props: QueueWorkerProps): UpkeepFunction {
    const { settings, packages, concurrency } = this.#props;
    const worker = new UpkeepFunction(this, 'Worker', {
      settings,
      packages,
      entry: props.entry,
      description: `Runs ${this.kind} tasks, one at a time`,
      timeout: TIMEOUT,
      memoryMb: props.nativeLayer ? settings.memoryMb : LIGHT_MEMORY_MB,
      scratch: Size.gibibytes(2),
      ...(props.nativeLayer ? { nativeLayer: props.nativeLayer } : {}),
      ...(settings.reservedConcurrency ? { reservedConcurrency: concurrency } : {}),
    });
    for (const [name, value] of Object.entries(props.names)) worker.function.addEnvironment(name, value);
    worker.function.addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: 1,
        reportBatchItemFailures: true,
        ...(concurrency >= LEAST_EVENT_SOURCE_CAP ? { maxConcurrency: concurrency } : {}),
      }),
    );
    grantTable(props.ledger, worker.role, RIGHTS.work);
    grantSend(worker.role, [...props.queues.map(({ queue }) => queue), this.deadLetters]);
    grantRoots(this, worker.role, { ...settings, access: props.access });
    return worker;
  }
}

/** Wake-ups go to every queue: whoever frees a table wakes what waits for it. */
export function grantSend(role: IRole, queues: readonly Queue[]): void {
  const resources = queues.map(({ queueArn }) => queueArn);
  role.addToPrincipalPolicy(new PolicyStatement({ sid: 'Send', actions: ['sqs:SendMessage'], resources }));
}

/** With the operator's key, or with the one of SQS. */
export function encryptionOf(
  scope: Construct,
  settings: StackSettings,
): Pick<QueueProps, 'encryption' | 'encryptionMasterKey'> {
  const { encryptionKey } = keyOf(scope, settings);
  if (!encryptionKey) return { encryption: QueueEncryption.SQS_MANAGED };
  return { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey };
}
