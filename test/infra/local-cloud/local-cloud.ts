import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { inject } from 'vitest';
import { type CloudNames, namesFromOutputs } from '../../../src/aws/names.ts';
import { cloudEnvironment, dynamoDbClient, sqsClient } from '../../fixtures/cloud.ts';
import { resolved } from '../fixtures/intrinsics.ts';
import { isAllowed, type Statement, statementsOf } from '../fixtures/policies.ts';
import { type CloudTemplate, propertiesOf, resourcesOf } from '../fixtures/template.ts';
import { DeployedFunction } from './deployed-function.ts';
import { Guard } from './guard.ts';
import { QueueSource } from './queue-source.ts';
import { type DeployedResources, deployResources } from './resources.ts';
import { firesIn } from './schedules.ts';
import { StreamSource } from './stream-source.ts';

export interface Deployment {
  readonly template: CloudTemplate;
  /** Folder of the code behind a hash of the template. */
  readonly assets: ReadonlyMap<string, string>;
  /** Where the test's clock begins; nothing fires before. @default 0 */
  readonly minute?: number;
}

interface Mapping {
  readonly EventSourceArn: string;
  readonly FunctionName: string;
  readonly BatchSize: number;
  readonly FunctionResponseTypes?: readonly string[];
  readonly ScalingConfig?: { readonly MaximumConcurrency: number };
  readonly StartingPosition?: string;
  readonly FilterCriteria?: { readonly Filters: readonly { readonly Pattern: string }[] };
  readonly MaximumRetryAttempts?: number;
  readonly BisectBatchOnFunctionError?: boolean;
  readonly DestinationConfig?: { readonly OnFailure: { readonly Destination: string } };
}

interface FunctionProperties {
  readonly Code: { readonly S3Key: string };
  readonly Handler: string;
  readonly Timeout: number;
  readonly ReservedConcurrentExecutions?: number;
  readonly Environment: { readonly Variables: Readonly<Record<string, string>> };
  readonly Layers?: readonly string[];
}

const MINUTE_MS = 60_000;
const QUIET_POLL_MS = 30;
const CONSUMES = ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'];

/**
 * A deployment of the template on the stand-ins: queues, table, stream, event sources, schedules, and the functions as
 * processes that see nothing but their own environment and layer, and reach the services through their role's rights only.
 */
export class LocalCloud {
  readonly names: CloudNames;
  readonly functions: ReadonlyMap<string, DeployedFunction>;
  /** What went wrong, in words: refused calls, functions that ended or threw, batches that were given up. */
  readonly problems: string[] = [];
  readonly stream: StreamSource;
  readonly #template: CloudTemplate;
  readonly #deployed: DeployedResources;
  readonly #guards: readonly Guard[];
  readonly #queues: QueueSource[] = [];
  readonly #sqs = sqsClient();
  readonly #clock: { minute: number };

  private constructor(
    template: CloudTemplate,
    deployed: DeployedResources,
    functions: ReadonlyMap<string, DeployedFunction>,
    guards: readonly Guard[],
    rights: ReadonlyMap<string, readonly Statement[]>,
    clock: { minute: number },
  ) {
    this.#clock = clock;
    this.#template = template;
    this.#deployed = deployed;
    this.functions = functions;
    this.#guards = guards;
    const outputs = Object.entries(template.Outputs).map(
      ([name, { Value }]) => [name, resolved<string>(Value, deployed.bindings)] as const,
    );
    this.names = namesFromOutputs(new Map(outputs), 'LanceUpkeep');
    let stream: StreamSource | undefined;
    for (const [id, { Properties }] of resourcesOf(template, 'AWS::Lambda::EventSourceMapping')) {
      const mapping = resolved<Mapping>(Properties, deployed.bindings);
      const source = this.#sourceOf(id, mapping, rights.get(mapping.FunctionName) ?? []);
      if (source instanceof StreamSource) stream = source;
      else this.#queues.push(source);
    }
    if (!stream) throw new Error('The template reads no stream.');
    this.stream = stream;
  }

  /** Deploys and starts to poll. */
  static async start({ template, assets, minute = 0 }: Deployment): Promise<LocalCloud> {
    const deployed = await deployResources(template, sqsClient(), dynamoDbClient());
    const clock = { minute };
    const functions = new Map<string, DeployedFunction>();
    const guards: Guard[] = [];
    const rights = new Map<string, readonly Statement[]>();
    for (const [id, { Properties }] of resourcesOf(template, 'AWS::Lambda::Function')) {
      const statements = statementsOf(template, id, deployed.bindings);
      const guard = new Guard(statements, inject('cloud'));
      guards.push(guard);
      rights.set(id, statements);
      const properties = resolved<FunctionProperties>(Properties, deployed.bindings);
      functions.set(id, deployFunction(id, properties, { template, assets }, await guard.start(), clock));
    }
    const cloud = new LocalCloud(template, deployed, functions, guards, rights, clock);
    for (const source of [...cloud.#queues, cloud.stream]) source.start();
    return cloud;
  }

  /** Lets so many minutes pass by the test's clock; each fires its schedules and waits until nothing moves any more. */
  async pass(minutes: number): Promise<void> {
    for (let count = 0; count < minutes; count += 1) {
      this.#clock.minute += 1;
      for (const source of this.#queues) await source.showDue();
      await this.#fire();
      await this.settled();
    }
  }

  /** Until no source has anything to give and no function runs, or until a problem came up. */
  async settled(): Promise<void> {
    const sources = [...this.#queues, this.stream];
    for (const source of sources) source.lookAgain();
    const moving = () =>
      [...this.functions.values()].some(({ active }) => active > 0) || !sources.every(({ idle }) => idle);
    while (this.trouble.length === 0 && moving()) await sleep(QUIET_POLL_MS);
  }

  get trouble(): readonly string[] {
    return [...this.problems, ...this.#guards.flatMap(({ denied }) => denied.map((what) => `denied: ${what}`))];
  }

  async deadLetters(): Promise<number> {
    const queues = [...this.#deployed.queueUrls].filter(([id]) => /DeadLetters|Failures/.test(id));
    const counts = queues.map(async ([, QueueUrl]) => {
      const AttributeNames = ['ApproximateNumberOfMessages' as const];
      const { Attributes } = await this.#sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));
      return Number(Attributes?.ApproximateNumberOfMessages ?? 0);
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** The function whose logical id begins so. */
  functionOf(idBegins: string): DeployedFunction {
    const found = [...this.functions].find(([id]) => id.startsWith(idBegins));
    if (!found) throw new Error(`There is no function ${idBegins}.`);
    return found[1];
  }

  async stop(): Promise<void> {
    const sources = [...this.#queues, this.stream].map((source) => source.stop());
    await Promise.all([...this.functions.values()].map((one) => one.stop()));
    await Promise.all(sources);
    for (const guard of this.#guards) guard.stop();
  }

  async #fire(): Promise<void> {
    for (const [, { Properties }] of resourcesOf(this.#template, 'AWS::Scheduler::Schedule')) {
      const schedule = resolved<{ ScheduleExpression: string; Target: { Arn: string; Input: string } }>(
        Properties,
        this.#deployed.bindings,
      );
      if (!firesIn(this.#clock.minute, schedule.ScheduleExpression)) continue;
      const target = this.functions.get(schedule.Target.Arn.split(':').at(-1) ?? '');
      if (!target) throw new Error(`A schedule fires at ${schedule.Target.Arn}, which is no function.`);
      try {
        await target.invoke(JSON.parse(schedule.Target.Input));
      } catch (error) {
        this.problems.push(`${target.options.id}: ${(error as Error).message}`);
      }
    }
  }

  #sourceOf(id: string, mapping: Mapping, rights: readonly Statement[]): QueueSource | StreamSource {
    const target = this.functions.get(mapping.FunctionName);
    if (!target) throw new Error(`${id} calls ${mapping.FunctionName}, which is no function.`);
    const name = mapping.EventSourceArn.split(':').at(-1) ?? '';
    const shared = {
      function: target,
      batchSize: mapping.BatchSize,
      reportsFailures: mapping.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
    };
    if (!mapping.EventSourceArn.includes(':sqs:')) return this.#streamOf(mapping, shared, rights);
    for (const action of CONSUMES) {
      if (isAllowed(rights, { action: `sqs:${action}`, resource: mapping.EventSourceArn })) continue;
      this.problems.push(`${id}: its function's role may not ${action} on ${name}`);
    }
    const queue = [...this.#deployed.names].find(([, known]) => known === name)?.[0] ?? '';
    return new QueueSource({
      ...shared,
      client: this.#sqs,
      url: this.#deployed.queueUrls.get(queue) ?? '',
      maximumConcurrency: mapping.ScalingConfig?.MaximumConcurrency,
      onProblem: (problem) => this.problems.push(problem),
      visibilityMinutes: propertiesOf<{ VisibilityTimeout: number }>(this.#template, queue).VisibilityTimeout / 60,
      minute: () => this.#clock.minute,
    });
  }

  #streamOf(
    mapping: Mapping,
    shared: { readonly function: DeployedFunction; readonly batchSize: number; readonly reportsFailures: boolean },
    rights: readonly Statement[],
  ): StreamSource {
    if (mapping.StartingPosition !== 'TRIM_HORIZON') throw new Error('The stream is not read from its beginning.');
    const table = /table\/([^/]+)\//.exec(mapping.EventSourceArn)?.[1] ?? '';
    const destination = mapping.DestinationConfig?.OnFailure.Destination ?? '';
    for (const action of ['DescribeStream', 'GetRecords', 'GetShardIterator']) {
      if (isAllowed(rights, { action: `dynamodb:${action}`, resource: mapping.EventSourceArn })) continue;
      this.problems.push(`The stream's function may not ${action}`);
    }
    if (!isAllowed(rights, { action: 'sqs:SendMessage', resource: destination })) {
      this.problems.push(`What the stream gives up may not be sent to ${destination}`);
    }
    return new StreamSource({
      ...shared,
      table,
      filters: (mapping.FilterCriteria?.Filters ?? []).map(({ Pattern }) => JSON.parse(Pattern) as unknown),
      maximumRetries: mapping.MaximumRetryAttempts ?? Number.POSITIVE_INFINITY,
      bisects: mapping.BisectBatchOnFunctionError ?? false,
      onGivenUp: async (records) => void this.problems.push(`${records} records of the stream were given up`),
    });
  }
}

function deployFunction(
  id: string,
  properties: FunctionProperties,
  { template, assets }: Deployment,
  endpoint: string,
  clock: { readonly minute: number },
): DeployedFunction {
  const [module = '', exported = ''] = properties.Handler.split('.');
  const code = assets.get(hashIn(properties.Code.S3Key)) ?? '';
  const layers = (properties.Layers ?? []).map((layer) => {
    const { Content } = propertiesOf<{ Content: { S3Key: string } }>(template, layer);
    return join(assets.get(hashIn(Content.S3Key)) ?? '', 'nodejs', 'node_modules');
  });
  const { AWS_REGION = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = cloudEnvironment();
  return new DeployedFunction({
    id,
    file: join(code, `${module}.mjs`),
    exported,
    timeoutMs: properties.Timeout * 1000,
    reservedConcurrency: properties.ReservedConcurrentExecutions,
    aheadMs: () => clock.minute * MINUTE_MS,
    environment: {
      ...properties.Environment.Variables,
      AWS_REGION,
      AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY,
      AWS_LAMBDA_FUNCTION_NAME: id,
      AWS_ENDPOINT_URL_DYNAMODB: endpoint,
      AWS_ENDPOINT_URL_SQS: endpoint,
      AWS_ENDPOINT_URL_S3: endpoint,
      NODE_PATH: layers.join(':'),
      TMPDIR: tmpdir(),
    },
  });
}

function hashIn(key: string): string {
  return key.replace(/\.zip$/, '');
}

/** Folders of an assembly's assets by their hashes. */
export function assetsIn(directory: string, stack: string): ReadonlyMap<string, string> {
  const manifest = JSON.parse(readFileSync(join(directory, `${stack}.assets.json`), 'utf8')) as {
    files: Record<string, { source: { path: string } }>;
  };
  return new Map(Object.entries(manifest.files).map(([hash, { source }]) => [hash, resolve(directory, source.path)]));
}
