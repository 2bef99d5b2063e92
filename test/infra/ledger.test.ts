import { describe, expect, it } from 'vitest';
import { LEDGER_INDEXES, ledgerTable } from '../../src/aws/dynamo-table.ts';
import { TTL_ATTRIBUTE } from '../../src/tasks/ports.ts';
import { jsonOf } from './fixtures/synthesized.ts';
import { resourceOf, resourcesOf } from './fixtures/template.ts';

async function table() {
  return resourceOf(await jsonOf(), 'AWS::DynamoDB::Table', 'LedgerTable')[1];
}

async function streamMapping() {
  return resourceOf(await jsonOf(), 'AWS::Lambda::EventSourceMapping', 'LedgerStream')[1].Properties;
}

interface NamedIndex {
  readonly IndexName: string;
}

const byName = (left: NamedIndex, right: NamedIndex) => left.IndexName.localeCompare(right.IndexName);

describe('the table of the ledger', () => {
  it('has the keys and the indexes that the adapter asks for, each with what it projects', async () => {
    const { Properties } = await table();
    const wanted = ledgerTable('x');
    expect(Properties.KeySchema).toEqual(wanted.KeySchema);
    const indexes = [...(Properties.GlobalSecondaryIndexes as NamedIndex[])].sort(byName);
    expect(indexes).toEqual([...((wanted.GlobalSecondaryIndexes ?? []) as NamedIndex[])].sort(byName));
    expect(indexes).toHaveLength(LEDGER_INDEXES.length);
    const attributes = (list: unknown) =>
      (list as { AttributeName: string }[]).map((one) => JSON.stringify(one)).sort();
    expect(attributes(Properties.AttributeDefinitions)).toEqual(attributes(wanted.AttributeDefinitions));
  });

  it('is on demand, encrypted, and can be brought back to any second of the last weeks', async () => {
    const { Properties } = await table();
    expect(Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { SSEEnabled: true },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    });
  });

  it('streams both images, and forgets ended tasks by their removeAfter', async () => {
    const { Properties } = await table();
    expect(Properties.StreamSpecification).toEqual({ StreamViewType: 'NEW_AND_OLD_IMAGES' });
    expect(Properties.TimeToLiveSpecification).toEqual({ AttributeName: TTL_ATTRIBUTE, Enabled: true });
    expect(TTL_ATTRIBUTE).toBe('removeAfter');
  });

  it('stays when the stack goes, but a first deployment that is rolled back leaves none behind', async () => {
    const { DeletionPolicy, UpdateReplacePolicy, Properties } = await table();
    expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain']);
    // DynamoDB would refuse CloudFormation, too.
    expect(Properties.DeletionProtectionEnabled ?? false).toBe(false);
  });

  it('cannot be deleted by mistake once that is asked for', async () => {
    const [, { Properties }] = resourceOf(
      await jsonOf({ deletionProtection: 'true' }),
      'AWS::DynamoDB::Table',
      'Ledger',
    );
    expect(Properties.DeletionProtectionEnabled).toBe(true);
  });
});

describe('the event source of the stream', () => {
  it('reads from the beginning, in batches of which single records may fail', async () => {
    expect(await streamMapping()).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      BisectBatchOnFunctionError: true,
    });
  });

  it('gives a poisoned record up after bounded retries and age, to a queue that an alarm watches', async () => {
    const mapping = await streamMapping();
    expect(mapping.MaximumRetryAttempts).toBeGreaterThan(0);
    expect(mapping.MaximumRetryAttempts).toBeLessThanOrEqual(20);
    expect(mapping.MaximumRecordAgeInSeconds).toBeLessThanOrEqual(3_600);
    const [failures] = resourceOf(await jsonOf(), 'AWS::SQS::Queue', 'LedgerStreamFailures');
    expect(mapping.DestinationConfig).toEqual({
      OnFailure: { Destination: { 'Fn::GetAtt': [failures, 'Arn'] } },
    });
    const alarms = resourcesOf(await jsonOf(), 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties);
    expect(alarms.filter(({ AlarmName }) => String(AlarmName).endsWith('stream-failures'))).toHaveLength(1);
  });
});
