import type { IncomingMessage } from 'node:http';
import type { CloudEndpoints } from '../../cloud/global-setup.ts';
import { ACCOUNT, REGION } from '../fixtures/intrinsics.ts';
import type { Request } from '../fixtures/policies.ts';

export interface JudgedCall {
  readonly service: keyof CloudEndpoints;
  /** What IAM checks for this one call; all of it has to be allowed. */
  readonly requests: readonly Request[];
  /** Without this right S3 does not tell that an object is absent: 403 instead of 404. */
  readonly tellsAbsence?: Request;
}

/** What a call to a service means to IAM. */
export function requestsOf({ method = 'GET', url = '/', headers }: IncomingMessage, body: Buffer): JudgedCall {
  const target = String(headers['x-amz-target'] ?? '');
  const [family = '', operation = ''] = target.split('.');
  if (family.startsWith('DynamoDB')) {
    return { service: 'dynamodb', requests: dynamoRequests(operation, JSON.parse(body.toString())) };
  }
  if (family === 'AmazonSQS') {
    return { service: 'sqs', requests: [sqsRequest(operation, JSON.parse(body.toString()))] };
  }
  const at = new URL(url, 'http://s3');
  const requests = s3Requests(method, at, headers, body);
  const [, bucket = '', key = ''] = /^\/([^/]+)\/(.+)$/.exec(decodeURIComponent(at.pathname)) ?? [];
  if (key === '' || (method !== 'GET' && method !== 'HEAD')) return { service: 's3', requests };
  // S3 judges that right as if the key were the prefix of a listing.
  const tellsAbsence = { action: 's3:ListBucket', resource: `arn:aws:s3:::${bucket}`, keys: { 's3:prefix': key } };
  return { service: 's3', requests, tellsAbsence };
}

interface DynamoBody {
  readonly TableName?: string;
  readonly IndexName?: string;
  readonly RequestItems?: Readonly<Record<string, unknown>>;
  readonly TransactItems?: readonly Readonly<Record<string, { readonly TableName: string }>>[];
}

const TRANSACTED: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
};

function dynamoRequests(operation: string, body: DynamoBody): readonly Request[] {
  const on = (name: string, table: string, index?: string): Request => ({
    action: `dynamodb:${name}`,
    resource: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${table}${index === undefined ? '' : `/index/${index}`}`,
  });
  if (body.TransactItems) {
    return body.TransactItems.flatMap((item) =>
      Object.entries(item).map(([name, { TableName }]) => on(TRANSACTED[name] ?? name, TableName)),
    );
  }
  if (body.RequestItems) return Object.keys(body.RequestItems).map((table) => on(operation, table));
  return [on(operation, body.TableName ?? '', body.IndexName)];
}

function sqsRequest(operation: string, { QueueUrl = '' }: { readonly QueueUrl?: string }): Request {
  const name = QueueUrl.split('/').at(-1) ?? '';
  return { action: `sqs:${operation}`, resource: queueArn(name) };
}

export function queueArn(name: string): string {
  return `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`;
}

function s3Requests(method: string, url: URL, headers: IncomingMessage['headers'], body: Buffer): readonly Request[] {
  const [bucket = '', ...rest] = decodeURIComponent(url.pathname).slice(1).split('/');
  const key = rest.join('/');
  const query = url.searchParams;
  const object = (action: string, path = `${bucket}/${key}`): Request => ({
    action: `s3:${action}`,
    resource: `arn:aws:s3:::${path}`,
  });
  if (key === '') {
    if (method === 'POST' && query.has('delete')) {
      const keys = [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)];
      return keys.map(([, one = '']) => object('DeleteObject', `${bucket}/${one}`));
    }
    const prefix = query.get('prefix');
    return [{ ...object('ListBucket', bucket), ...(prefix === null ? {} : { keys: { 's3:prefix': prefix } }) }];
  }
  if (method === 'DELETE') return [object(query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject')];
  if (method === 'GET' || method === 'HEAD') return [object('GetObject')];
  const source = headers['x-amz-copy-source'];
  const copied =
    source === undefined ? [] : [object('GetObject', decodeURIComponent(String(source)).replace(/^\//, ''))];
  return [...copied, object('PutObject')];
}
