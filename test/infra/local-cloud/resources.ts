import { randomUUID } from 'node:crypto';
import { CreateTableCommand, type CreateTableCommandInput, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { ACCOUNT, type Bindings, REGION, resolved } from '../fixtures/intrinsics.ts';
import { type CloudTemplate, resourcesOf } from '../fixtures/template.ts';
import { queueArn } from './request-actions.ts';

/** The queues and the table of a template as they really are now, and what the template's names stand for. */
export interface DeployedResources {
  readonly bindings: Bindings;
  /** Names of queues and tables by logical id. */
  readonly names: ReadonlyMap<string, string>;
  readonly queueUrls: ReadonlyMap<string, string>;
}

/** Properties of a queue that SQS takes as attributes; the others concern keys and tags, which the stand-in has none of. */
const ATTRIBUTES = ['VisibilityTimeout', 'MessageRetentionPeriod', 'RedrivePolicy', 'DelaySeconds'];
const NOT_PLAYED = ['SqsManagedSseEnabled', 'KmsMasterKeyId'];
const TABLE_NOT_PLAYED = [
  'SSESpecification',
  'PointInTimeRecoverySpecification',
  'TimeToLiveSpecification',
  'DeletionProtectionEnabled',
];

export async function deployResources(
  template: CloudTemplate,
  sqs: SQSClient,
  dynamo: DynamoDBClient,
): Promise<DeployedResources> {
  const stack = randomUUID().slice(0, 8);
  const kept = ['AWS::SQS::Queue', 'AWS::DynamoDB::Table'].flatMap((type) => resourcesOf(template, type));
  const names = new Map(kept.map(([id]) => [id, `${id}-${stack}`]));
  const queueUrls = new Map<string, string>();
  const bindings = bindingsOf(names, queueUrls);
  // Queues that others name as their dead letters have to be there first.
  for (const [id, { Properties }] of deadLettersFirst(resourcesOf(template, 'AWS::SQS::Queue'))) {
    const attributes = attributesOf(id, resolved(Properties, bindings));
    const request = new CreateQueueCommand({ QueueName: names.get(id) ?? '', Attributes: attributes });
    queueUrls.set(id, (await sqs.send(request)).QueueUrl ?? '');
  }
  for (const [id, { Properties }] of resourcesOf(template, 'AWS::DynamoDB::Table')) {
    const known = Object.entries(Properties).filter(([name]) => !TABLE_NOT_PLAYED.includes(name));
    const table = resolved<CreateTableCommandInput>(Object.fromEntries(known), bindings);
    const stream = { StreamEnabled: true, ...table.StreamSpecification };
    await dynamo.send(
      new CreateTableCommand({
        ...table,
        TableName: names.get(id),
        ...(table.StreamSpecification ? { StreamSpecification: stream } : {}),
      }),
    );
  }
  return { bindings, names, queueUrls };
}

function bindingsOf(names: ReadonlyMap<string, string>, queueUrls: ReadonlyMap<string, string>): Bindings {
  return {
    ref: (id) => queueUrls.get(id) ?? names.get(id) ?? id,
    attribute(id, attribute) {
      const name = names.get(id) ?? id;
      if (attribute === 'StreamArn') return `${tableArn(name)}/stream/1`;
      if (attribute === 'QueueName') return name;
      if (attribute !== 'Arn') throw new Error(`Nothing is known of ${attribute} of ${id}.`);
      if (/Table/.test(id)) return tableArn(name);
      if (/Queue|DeadLetters|Failures/.test(id)) return queueArn(name);
      if (/Logs/.test(id)) return `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${name}:*`;
      return `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${name}`;
    },
  };
}

function tableArn(name: string): string {
  return `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${name}`;
}

function deadLettersFirst<T extends { readonly Properties: Readonly<Record<string, unknown>> }>(
  queues: readonly (readonly [string, T])[],
): readonly (readonly [string, T])[] {
  return [...queues].sort(([, left], [, right]) => redrives(left) - redrives(right));
}

function redrives({ Properties }: { readonly Properties: Readonly<Record<string, unknown>> }): number {
  return Properties.RedrivePolicy === undefined ? 0 : 1;
}

function attributesOf(id: string, properties: Readonly<Record<string, unknown>>): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(properties)) {
    if (NOT_PLAYED.includes(name)) continue;
    if (!ATTRIBUTES.includes(name)) throw new Error(`The queue ${id} has ${name}, which is not known here.`);
    attributes[name] = typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
  return attributes;
}
