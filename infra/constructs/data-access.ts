import { Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { OWNER_KEY } from '../../src/fleet/root-owner.ts';
import { acknowledge } from './acknowledge.ts';

const READ = ['s3:GetObject'];
const WRITE = ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload'];
const WRITE_AND_DELETE = [...WRITE, 's3:DeleteObject'];

/**
 * - `look`: read the tables and put the owner marker, the one object that a sweep makes.
 * - `add`: read, and add objects.
 * - `rewrite`: the same, and delete what is no longer used.
 */
export type DataAccess = 'look' | 'add' | 'rewrite';

const ACTIONS: Readonly<Record<DataAccess, readonly string[]>> = { look: READ, add: WRITE, rewrite: WRITE_AND_DELETE };

export interface RootAccessProps {
  /** Canonical roots, `s3://bucket/prefix`. */
  readonly roots: readonly string[];
  readonly access: DataAccess;
  /** Key of the buckets' objects. @default - none of yours */
  readonly bucketKmsKeyArn?: string;
}

/** Lets a role at the objects below the roots, and at nothing beside them. */
export function grantRoots(scope: Construct, role: IRole, { roots, access, bucketKmsKeyArn }: RootAccessProps): void {
  const places = roots.map(placeOf);
  const arn = (path: string) => Stack.of(scope).formatArn({ service: 's3', region: '', account: '', resource: path });
  const objects = places.map(({ bucket, prefix }) => arn(`${bucket}/${prefix}*`));
  const statements = [new PolicyStatement({ sid: 'Objects', actions: [...ACTIONS[access]], resources: objects })];
  // Also what makes S3 answer 404 instead of 403 for a key that is absent, such as the manifest of the next version.
  for (const [index, { bucket, prefix }] of places.entries()) {
    statements.push(
      new PolicyStatement({
        sid: `List${index}`,
        actions: ['s3:ListBucket'],
        resources: [arn(bucket)],
        ...(prefix === '' ? {} : { conditions: { StringLike: { 's3:prefix': `${prefix}*` } } }),
      }),
    );
  }
  if (access === 'look') {
    const markers = places.map(({ bucket, prefix }) => arn(`${bucket}/${prefix}${OWNER_KEY}`));
    statements.push(new PolicyStatement({ sid: 'OwnerMarker', actions: ['s3:PutObject'], resources: markers }));
  }
  if (bucketKmsKeyArn !== undefined) {
    const actions = ['kms:Decrypt', 'kms:GenerateDataKey'];
    statements.push(new PolicyStatement({ sid: 'BucketKey', actions, resources: [bucketKmsKeyArn] }));
  }
  for (const statement of statements) role.addToPrincipalPolicy(statement);
  for (const { bucket, prefix } of places) {
    const finding = `Resource::arn:<AWS::Partition>:s3:::${bucket}/${prefix}*`;
    acknowledge(
      role,
      `AwsSolutions-IAM5[${finding}]`,
      'The tables below the root come and go; the wildcard ends there.',
    );
  }
}

function placeOf(root: string): { bucket: string; prefix: string } {
  const [bucket = '', ...folders] = root.slice('s3://'.length).split('/');
  return { bucket, prefix: folders.length === 0 ? '' : `${folders.join('/')}/` };
}
