import { describe, expect, it } from 'vitest';
import { stackSettings } from '../../infra/settings.ts';
import { CLOUD_VARIABLES } from '../../src/aws/names.ts';
import { loadSettings } from '../../src/config.ts';
import { jsonOf } from './fixtures/synthesized.ts';
import { resourcesOf } from './fixtures/template.ts';

const roots = 's3://lake/tables';

function rootsOf(count: number): string {
  return Array.from({ length: count }, (_, index) => `s3://lake/team-${index}`).join(',');
}

/** A policy as IAM gets it: names in the place of references. */
function plainLength(text: string): number {
  const joined = text.replace(
    /\{"Fn::Join":\["",\["arn:",\{"Ref":"AWS::Partition"\},"([^"]*)"\]\]\}/g,
    (_, rest: string) => `"arn:aws${rest}"`,
  );
  return joined.replace(/\{"Fn::GetAtt":\["([^"]*)","[^"]*"\]\}/g, (_, id: string) => {
    return `"arn:aws:sqs:us-east-1:111122223333:LanceUpkeep-${id}-ABCDEFGHIJKLM"`;
  }).length;
}

describe('the settings of a deployment', () => {
  it('are the product’s own under their own names, from context or environment, context first', async () => {
    const context = { roots, MIN_FRAGMENTS: '32' };
    const { settings } = await stackSettings(context, { MIN_FRAGMENTS: '64', MERGE_WAL_CONCURRENCY: '2' });
    expect(settings).toMatchObject({ minFragments: 32, mergeWalConcurrency: 2 });
  });

  it.each([
    [{}, 'ROOTS_MISSING'],
    [{ roots: '/data/db' }, 'ROOT_INVALID'],
    [{ roots: 's3://lake/x.lance' }, 'ROOT_INVALID'],
    [{ roots, MIN_FRAGMNTS: '3' }, 'SETTING_UNKNOWN'],
    [{ roots, rots: 's3://lake' }, 'SETTING_UNKNOWN'],
    [{ roots, MIN_FRAGMENTS: 'many' }, 'SETTING_INVALID'],
    [{ roots, architecture: 'riscv' }, 'SETTING_INVALID'],
    [{ roots, memoryMb: '64' }, 'SETTING_INVALID'],
    [{ roots, logRetentionDays: '31' }, 'SETTING_INVALID'],
    [{ roots, kmsKeyArn: 'my-key' }, 'SETTING_INVALID'],
    [{ roots, subnetIds: 'subnet-1' }, 'SETTING_INVALID'],
    [{ roots, quietHours: 'night' }, 'SETTING_INVALID'],
    [{ roots, quietHours: '22-6', COMPACTION_INTERVAL: '420' }, 'SETTING_INVALID'],
    [{ roots, timeZone: 'Mars/Phobos' }, 'SETTING_INVALID'],
    [{ roots, timeZone: '+01:00', quietHours: '22-6' }, 'SETTING_INVALID'],
    [{ roots: 's3://My_Bucket/db' }, 'ROOT_INVALID'],
    [{ roots: 's3://lake..old/db' }, 'ROOT_INVALID'],
    [{ roots, COMPACT_CONCURRENCY: '1001' }, 'SETTING_INVALID'],
    [{ roots, MERGE_WAL_CONCURRENCY: '1001' }, 'SETTING_INVALID'],
    [{ roots, MERGE_WAL_CONCURRENCY: '1', reservedConcurrency: 'false' }, 'SETTING_INVALID'],
    [{ roots, stackName: 'my_stack' }, 'SETTING_INVALID'],
    [{ roots, stackName: '1st' }, 'SETTING_INVALID'],
    [{ roots: rootsOf(70) }, 'ROOT_INVALID'],
  ] as const)('%j is refused with %s', async (context, code) => {
    await expect(stackSettings(context, {})).rejects.toMatchObject({
      code,
      disposition: 'permanent',
      message: expect.stringMatching(/[.?]$/),
    });
  });

  it('are refused for an environment that is too large, too, where the rights on its few long roots would fit', async () => {
    const long = ['a', 'b', 'c'].map((name) => `s3://lake/${name.repeat(650)}`).join(',');
    await expect(stackSettings({ roots: long }, {})).rejects.toMatchObject({
      code: 'ROOT_INVALID',
      message: expect.stringMatching(/the functions’ environment would be \d+ bytes, and Lambda takes 4096\.$/),
    });
  });

  it('that name as many roots as a stack takes make an environment and rights that AWS takes, too', async () => {
    let count = 70;
    for (; count > 1; count -= 1) {
      const settled = await stackSettings({ roots: rootsOf(count) }, {}).catch(() => undefined);
      if (settled) break;
    }
    expect(count).toBeGreaterThan(20);
    const template = await jsonOf({ roots: rootsOf(count) });
    for (const [id, { Properties }] of resourcesOf(template, 'AWS::IAM::Policy')) {
      const text = JSON.stringify(Properties.PolicyDocument);
      expect(plainLength(text), id).toBeLessThanOrEqual(10_240);
    }
    for (const [id, { Properties }] of resourcesOf(template, 'AWS::Lambda::Function')) {
      const { Variables } = Properties.Environment as { Variables: Record<string, unknown> };
      const bytes = Object.entries(Variables).map(([name, value]) => {
        const made = `https://sqs.us-east-1.amazonaws.com/111122223333/${'x'.repeat(60)}`;
        return name.length + (typeof value === 'string' ? value : made).length;
      });
      expect(
        bytes.reduce((sum, one) => sum + one, 0),
        id,
      ).toBeLessThanOrEqual(4_096);
    }
  });

  it('pass by the flags that CDK keeps in the same place', async () => {
    const flags = { '@aws-cdk/core:checkSecretUsage': true, 'aws:cdk:enable-path-metadata': true };
    expect(await stackSettings({ ...flags, roots }, {})).toMatchObject({ roots: [roots] });
  });
});

describe('the variables of every function', () => {
  it('are understood by the function itself, and say what the deployment was told', async () => {
    const template = await jsonOf({ MIN_FRAGMENTS: '32', roots: 's3://lake/tables/,s3://other' });
    const functions = resourcesOf(template, 'AWS::Lambda::Function');
    expect(functions).toHaveLength(7);
    for (const [, { Properties }] of functions) {
      const { Variables } = Properties.Environment as { Variables: Record<string, string> };
      const settings = loadSettings(Variables, CLOUD_VARIABLES);
      expect(settings).toMatchObject({ minFragments: 32, roots: ['s3://lake/tables', 's3://other'] });
      expect(Object.keys(Variables)).toEqual(
        expect.arrayContaining(CLOUD_VARIABLES.filter((name) => name !== 'UPKEEP_STACK')),
      );
    }
  });

  it('lead to one architecture, the chosen one', async () => {
    const functions = resourcesOf(await jsonOf({ architecture: 'arm64' }), 'AWS::Lambda::Function');
    for (const [, { Properties }] of functions) expect(Properties.Architectures).toEqual(['arm64']);
  });

  it('come with logs that are kept for a limited time', async () => {
    const groups = resourcesOf(await jsonOf({ logRetentionDays: '90' }), 'AWS::Logs::LogGroup');
    expect(groups).toHaveLength(7);
    for (const [, { Properties }] of groups) expect(Properties.RetentionInDays).toBe(90);
  });
});
