import { beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT, type Bindings, REGION } from './fixtures/intrinsics.ts';
import { isAllowed, type Request, type Statement, statementsOf } from './fixtures/policies.ts';
import { jsonOf } from './fixtures/synthesized.ts';
import { type CloudTemplate, resourceOf, resourcesOf } from './fixtures/template.ts';

const TABLE = `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/LedgerTable`;
const BUCKET = 'arn:aws:s3:::lake';
const STORE = `${BUCKET}/tables/events.lance`;

const queue = (id: string) => `arn:aws:sqs:${REGION}:${ACCOUNT}:${id}`;

/** Names without the digits that CDK puts behind them. */
const bindings: Bindings = {
  ref: (id) => short(id),
  attribute: (id, name) => {
    if (name === 'StreamArn') return `${TABLE}/stream/1`;
    if (/Table/.test(id)) return TABLE;
    if (/Logs/.test(id)) return `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${short(id)}:*`;
    return queue(short(id));
  },
};

function short(id: string): string {
  return id.replace(/[0-9A-F]{8}$/, '');
}

const IDS = {
  sweep: 'SweepsSweepFunction',
  stream: 'LedgerStreamFunction',
  compact: 'CompactWorkerFunction',
  'index-id': 'IndexIdWorkerFunction',
  'merge-wal': 'MergeWalWorkerFunction',
  'optimize-indices': 'OptimizeIndicesWorkerFunction',
  prune: 'PruneWorkerFunction',
} as const;

type Name = keyof typeof IDS;

const names = Object.keys(IDS) as Name[];
const QUEUES: readonly (readonly [Name, string])[] = [
  ['compact', 'Compact'],
  ['index-id', 'IndexId'],
  ['merge-wal', 'MergeWal'],
  ['optimize-indices', 'OptimizeIndices'],
  ['prune', 'Prune'],
];

let template: CloudTemplate;
const statements = new Map<Name, readonly Statement[]>();

beforeAll(async () => {
  template = await jsonOf();
  for (const name of names) {
    const [id] = resourceOf(template, 'AWS::Lambda::Function', IDS[name]);
    statements.set(name, statementsOf(template, id, bindings));
  }
});

function may(name: Name, action: string, resource: string, keys?: Request['keys']): boolean {
  return isAllowed(statements.get(name) ?? [], { action, resource, ...(keys ? { keys } : {}) });
}

const inPrefix = { 's3:prefix': 'tables/events.lance/_versions/' };

describe.each(names)('%s may', (name) => {
  it('wake every queue', () => {
    for (const [, kind] of QUEUES) expect(may(name, 'sqs:SendMessage', queue(`${kind}Queue`)), kind).toBe(true);
  });

  it('write its own log', () => {
    const [, worker] = resourceOf(template, 'AWS::Lambda::Function', IDS[name]);
    const { LogGroup } = worker.Properties.LoggingConfig as { LogGroup: { Ref: string } };
    const own = `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:${short(LogGroup.Ref)}:log-stream:1`;
    expect(may(name, 'logs:PutLogEvents', own)).toBe(true);
  });
});

/** What it does to the ledger's items, and nothing else. Deleting and looking around is for whoever tells dependents. */
const WORK = ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem'];
const LEDGER_ACTIONS: Readonly<Record<Name, readonly string[]>> = {
  sweep: [...WORK, 'Query', 'DeleteItem'],
  stream: [...WORK, 'Query', 'DeleteItem'],
  compact: WORK,
  'index-id': WORK,
  'merge-wal': WORK,
  'optimize-indices': WORK,
  prune: WORK,
};
const EVERY_ITEM_ACTION = [...WORK, 'Query', 'DeleteItem', 'Scan', 'BatchWriteItem', 'PartiQLSelect', 'PartiQLUpdate'];

describe.each(names)('on the ledger %s', (name) => {
  it('may do what it does there, and no more', () => {
    const allowed = EVERY_ITEM_ACTION.filter((action) => may(name, `dynamodb:${action}`, TABLE));
    expect(allowed.toSorted()).toEqual(LEDGER_ACTIONS[name].toSorted());
  });
});

describe('every role', () => {
  it('is taken by its service for this account alone', () => {
    const roles = resourcesOf(template, 'AWS::IAM::Role');
    expect(roles).toHaveLength(8);
    for (const [id, { Properties }] of roles) {
      const { Statement } = Properties.AssumeRolePolicyDocument as { Statement: unknown[] };
      expect(Statement, id).toEqual([
        expect.objectContaining({ Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } } }),
      ]);
    }
  });
});

describe('the sweep may', () => {
  it('read the tables, list below the roots, and put the owner marker', () => {
    expect(may('sweep', 's3:GetObject', `${STORE}/_versions/1.manifest`)).toBe(true);
    expect(may('sweep', 's3:ListBucket', BUCKET, inPrefix)).toBe(true);
    expect(may('sweep', 's3:PutObject', `${BUCKET}/tables/_lance_upkeep/owner.json`)).toBe(true);
  });

  it('look into the indexes for what is due, and at how many messages wait', () => {
    for (const index of ['leases', 'queued', 'waiting', 'unnotified', 'recent', 'target-tasks', 'needs']) {
      expect(may('sweep', 'dynamodb:Query', `${TABLE}/index/${index}`), index).toBe(true);
    }
    expect(may('sweep', 'sqs:GetQueueAttributes', queue('MergeWalQueue'))).toBe(true);
  });
});

describe('the stream’s function may', () => {
  it('read the stream and give up a batch', () => {
    for (const action of ['DescribeStream', 'GetRecords', 'GetShardIterator']) {
      expect(may('stream', `dynamodb:${action}`, `${TABLE}/stream/1`), action).toBe(true);
    }
    expect(may('stream', 'sqs:SendMessage', queue('LedgerStreamFailures'))).toBe(true);
  });
});

describe.each(QUEUES)('%s may', (name, kind) => {
  it('take messages of its queue, show them again, and put one among its dead letters', () => {
    for (const action of ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility', 'GetQueueAttributes']) {
      expect(may(name, `sqs:${action}`, queue(`${kind}Queue`)), action).toBe(true);
    }
    expect(may(name, 'sqs:SendMessage', queue(`${kind}DeadLetters`))).toBe(true);
  });

  it('read and write objects of the tables', () => {
    for (const action of ['GetObject', 'PutObject', 'AbortMultipartUpload']) {
      expect(may(name, `s3:${action}`, `${STORE}/data/1.lance`), action).toBe(true);
    }
    expect(may(name, 's3:ListBucket', BUCKET, inPrefix)).toBe(true);
  });
});

describe.each(['compact', 'merge-wal', 'optimize-indices', 'prune'] as const)('%s may also', (name) => {
  it('delete objects that no version needs any more', () => {
    expect(may(name, 's3:DeleteObject', `${STORE}/data/1.lance`)).toBe(true);
  });
});

const FORBIDDEN: readonly (readonly [string, string, string, Request['keys']?])[] = [
  ['read an object of another bucket', 's3:GetObject', 'arn:aws:s3:::lake-of-others/tables/events.lance/x'],
  ['read an object of another prefix', 's3:GetObject', `${BUCKET}/private/events.lance/x`],
  ['read an object of a prefix that begins alike', 's3:GetObject', `${BUCKET}/tables-of-others/x`],
  ['write to another bucket', 's3:PutObject', 'arn:aws:s3:::lake-of-others/tables/x'],
  ['write to another prefix', 's3:PutObject', `${BUCKET}/private/x`],
  ['delete in another prefix', 's3:DeleteObject', `${BUCKET}/private/x`],
  ['delete an old version of an object', 's3:DeleteObjectVersion', `${STORE}/x`],
  ['list another bucket', 's3:ListBucket', 'arn:aws:s3:::lake-of-others', inPrefix],
  ['list another prefix', 's3:ListBucket', BUCKET, { 's3:prefix': 'private/' }],
  ['list the whole bucket', 's3:ListBucket', BUCKET],
  ['list a prefix that begins alike', 's3:ListBucket', BUCKET, { 's3:prefix': 'tables-of-others/' }],
  ['delete the bucket', 's3:DeleteBucket', BUCKET],
  ['open the bucket to others', 's3:PutBucketPolicy', BUCKET],
  ['set rights on an object', 's3:PutObjectAcl', `${STORE}/x`],
  ['delete the ledger’s table', 'dynamodb:DeleteTable', TABLE],
  ['change the ledger’s table', 'dynamodb:UpdateTable', TABLE],
  ['scan the ledger', 'dynamodb:Scan', TABLE],
  ['read another table', 'dynamodb:GetItem', `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/Payments`],
  ['turn point-in-time recovery off', 'dynamodb:UpdateContinuousBackups', TABLE],
  ['send to a foreign queue', 'sqs:SendMessage', queue('Payments')],
  ['purge a queue', 'sqs:PurgeQueue', queue('MergeWalQueue')],
  ['delete a queue', 'sqs:DeleteQueue', queue('MergeWalQueue')],
  ['take dead letters away', 'sqs:DeleteMessage', queue('MergeWalDeadLetters')],
  ['open a queue to others', 'sqs:AddPermission', queue('MergeWalQueue')],
  ['invoke a function', 'lambda:InvokeFunction', `arn:aws:lambda:${REGION}:${ACCOUNT}:function:x`],
  ['change its own code', 'lambda:UpdateFunctionCode', `arn:aws:lambda:${REGION}:${ACCOUNT}:function:x`],
  ['give itself rights', 'iam:PutRolePolicy', `arn:aws:iam::${ACCOUNT}:role/x`],
  ['become another role', 'sts:AssumeRole', `arn:aws:iam::${ACCOUNT}:role/x`],
  ['delete its log', 'logs:DeleteLogGroup', `arn:aws:logs:${REGION}:${ACCOUNT}:log-group:x`],
  ['read a secret', 'secretsmanager:GetSecretValue', `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:x`],
];

describe('none of the functions may', () => {
  it.each(FORBIDDEN.map(([what, ...call]) => ({ what, call })))('$what', ({ call: [action, resource, keys] }) => {
    for (const name of names) expect(may(name, action, resource, keys), name).toBe(false);
  });

  it('do what another queue does with its messages and dead letters', () => {
    for (const [name, own] of QUEUES) {
      for (const [, kind] of QUEUES.filter(([, other]) => other !== own)) {
        expect(may(name, 'sqs:ReceiveMessage', queue(`${kind}Queue`)), `${name} from ${kind}`).toBe(false);
        expect(may(name, 'sqs:SendMessage', queue(`${kind}DeadLetters`)), `${name} to ${kind}`).toBe(false);
      }
    }
  });
});

describe('the sweep only reads:', () => {
  it('it puts nothing but the owner marker, and deletes nothing but that', () => {
    expect(may('sweep', 's3:PutObject', `${STORE}/data/1.lance`)).toBe(false);
    expect(may('sweep', 's3:PutObject', `${BUCKET}/tables/_lance_upkeep/scratch/x`)).toBe(false);
    expect(may('sweep', 's3:DeleteObject', `${STORE}/data/1.lance`)).toBe(false);
    expect(may('sweep', 's3:DeleteObject', `${BUCKET}/tables/_lance_upkeep/owner.json`)).toBe(true);
    expect(may('sweep', 's3:DeleteObject', `${BUCKET}/tables/team/_lance_upkeep/owner.json`)).toBe(false);
  });
});

describe('whoever claims a root', () => {
  const deep = 's3://lake/tables/team/db';
  const around = [
    '_lance_upkeep/owner.json',
    'tables/_lance_upkeep/owner.json',
    'tables/team/_lance_upkeep/owner.json',
  ];

  it.each(names.filter((name) => name !== 'stream'))(
    'as %s does, may read the markers around it, learn that one is absent, and nothing else up there',
    async (name) => {
      const rooted = await jsonOf({ roots: deep });
      const [id] = resourceOf(rooted, 'AWS::Lambda::Function', IDS[name]);
      const found = statementsOf(rooted, id, bindings);
      const allowed = (action: string, resource: string, keys?: Request['keys']) =>
        isAllowed(found, { action, resource, ...(keys ? { keys } : {}) });
      for (const key of around) {
        expect(allowed('s3:GetObject', `${BUCKET}/${key}`), key).toBe(true);
        expect(allowed('s3:ListBucket', BUCKET, { 's3:prefix': key }), key).toBe(true);
        expect(allowed('s3:PutObject', `${BUCKET}/${key}`), key).toBe(false);
        expect(allowed('s3:DeleteObject', `${BUCKET}/${key}`), key).toBe(false);
      }
      for (const key of [
        'tables/x.lance/1.manifest',
        '_lance_upkeep/scratch/x',
        'tables/other/_lance_upkeep/owner.json',
      ]) {
        expect(allowed('s3:GetObject', `${BUCKET}/${key}`), key).toBe(false);
      }
      expect(allowed('s3:ListBucket', BUCKET, { 's3:prefix': 'tables/' })).toBe(false);
    },
  );
});

describe('the stream’s function', () => {
  it('touches no object at all', () => {
    for (const action of ['GetObject', 'PutObject', 'DeleteObject']) {
      expect(may('stream', `s3:${action}`, `${STORE}/data/1.lance`), action).toBe(false);
    }
    expect(may('stream', 's3:ListBucket', BUCKET, inPrefix)).toBe(false);
  });
});

describe('the index builder', () => {
  it('deletes no object', () => {
    expect(may('index-id', 's3:DeleteObject', `${STORE}/data/1.lance`)).toBe(false);
  });
});

describe('the schedules', () => {
  it('may invoke the sweep and nothing else', () => {
    const [, policy] = resourceOf(template, 'AWS::IAM::Policy', 'SweepsScheduleRole');
    const { Statement } = policy.Properties.PolicyDocument as { Statement: unknown[] };
    const [sweep] = resourceOf(template, 'AWS::Lambda::Function', IDS.sweep);
    expect(Statement).toEqual([
      { Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: { 'Fn::GetAtt': [sweep, 'Arn'] } },
    ]);
  });
});

describe('with a key of yours', () => {
  it('functions may use it, and the bucket’s own for the objects, and no other', async () => {
    const [kmsKeyArn, bucketKmsKeyArn] = ['1', '2'].map((id) => `arn:aws:kms:${REGION}:${ACCOUNT}:key/${id}`);
    const keyed = await jsonOf({ kmsKeyArn: kmsKeyArn ?? '', bucketKmsKeyArn: bucketKmsKeyArn ?? '' });
    const [id] = resourceOf(keyed, 'AWS::Lambda::Function', IDS.compact);
    const found = statementsOf(keyed, id, bindings);
    for (const resource of [kmsKeyArn ?? '', bucketKmsKeyArn ?? '']) {
      expect(isAllowed(found, { action: 'kms:Decrypt', resource })).toBe(true);
      expect(isAllowed(found, { action: 'kms:GenerateDataKey', resource })).toBe(true);
      expect(isAllowed(found, { action: 'kms:ScheduleKeyDeletion', resource })).toBe(false);
    }
    const other = `arn:aws:kms:${REGION}:${ACCOUNT}:key/3`;
    expect(isAllowed(found, { action: 'kms:Decrypt', resource: other })).toBe(false);
  });
});
