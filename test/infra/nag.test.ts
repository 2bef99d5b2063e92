import { Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { type Synthesized, stackOf } from './fixtures/synthesized.ts';

const NETWORK = { subnetIds: 'subnet-0123456789abcdef0', securityGroupIds: 'sg-0123456789abcdef0' };
const KEYS = {
  kmsKeyArn: 'arn:aws:kms:us-east-1:111122223333:key/1',
  bucketKmsKeyArn: 'arn:aws:kms:us-east-1:111122223333:key/2',
};

/** Throws with the findings when there are any, as a deployment would. */
function check({ app }: Synthesized): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  app.synth();
}

describe('the AWS Solutions checks of cdk-nag', () => {
  it('find nothing that is not accepted with a reason', async () => {
    check(await stackOf());
  });

  it('find nothing either with keys of yours, in a VPC, on two roots, one of them a whole bucket', async () => {
    check(await stackOf({ ...NETWORK, ...KEYS, roots: 's3://lake/tables,s3://whole' }));
  });

  it('do look: a queue without TLS and dead letters is found', async () => {
    const synthesized = await stackOf();
    new Queue(synthesized.stack, 'Careless');
    expect(() => check(synthesized)).toThrow(/AwsSolutions-SQS3[\s\S]*AwsSolutions-SQS4/);
  });
});
