import { describe, expect, it } from 'vitest';
import { jsonOf } from './fixtures/synthesized.ts';
import type { CloudTemplate } from './fixtures/template.ts';

/** What changes with every build of the code says nothing about the stack. */
function withoutAssets({ Resources, Outputs }: CloudTemplate): unknown {
  const text = JSON.stringify({ Resources, Outputs });
  return JSON.parse(text.replace(/[0-9a-f]{64}(\.zip)?/g, 'asset'));
}

describe('the template', () => {
  it('without alarms is as it was', async () => {
    expect(withoutAssets(await jsonOf({ alarms: 'false' }))).toMatchSnapshot();
  });

  it('with everything is as it was', async () => {
    const everything = {
      roots: 's3://lake/tables,s3://archive',
      kmsKeyArn: 'arn:aws:kms:us-east-1:111122223333:key/1',
      bucketKmsKeyArn: 'arn:aws:kms:us-east-1:111122223333:key/2',
      subnetIds: 'subnet-0123456789abcdef0',
      securityGroupIds: 'sg-0123456789abcdef0',
      alarmTopicArn: 'arn:aws:sns:us-east-1:111122223333:pager',
      quietHours: '22-6',
    };
    expect(withoutAssets(await jsonOf(everything))).toMatchSnapshot();
  });
});
