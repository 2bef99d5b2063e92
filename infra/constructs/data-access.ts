import { Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { OWNER_KEY } from '../../src/upkeep/root-owner.ts';
import { markersAbove } from '../../src/upkeep/root-ownership.ts';
import { acknowledge } from './acknowledge.ts';

const READ = ['s3:GetObject'];
const WRITE = ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload'];
const WRITE_AND_DELETE = [...WRITE, 's3:DeleteObject'];

/**
 * All may put the root's own owner marker, take it back, and read the markers around the root.
 * - `look`: read the tables.
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

/** Lets a role at the objects below the roots, and at nothing beside them but the markers that say whose they are. */
export function grantRoots(scope: Construct, role: IRole, { roots, access, bucketKmsKeyArn }: RootAccessProps): void {
  const arn = (path: string) => Stack.of(scope).formatArn({ service: 's3', region: '', account: '', resource: path });
  for (const statement of rootStatements(roots, access, arn)) role.addToPrincipalPolicy(statement);
  if (bucketKmsKeyArn !== undefined) {
    const actions = ['kms:Decrypt', 'kms:GenerateDataKey'];
    role.addToPrincipalPolicy(new PolicyStatement({ sid: 'BucketKey', actions, resources: [bucketKmsKeyArn] }));
  }
  for (const { bucket, prefix } of roots.map(placeOf)) {
    const finding = `Resource::arn:<AWS::Partition>:s3:::${bucket}/${prefix}*`;
    acknowledge(
      role,
      `AwsSolutions-IAM5[${finding}]`,
      'The tables below the root come and go; the wildcard ends there.',
    );
  }
}

/** The rights on the roots alone. `arn` names a bucket or an object. */
export function rootStatements(
  roots: readonly string[],
  access: DataAccess,
  arn: (path: string) => string,
): readonly PolicyStatement[] {
  const places = roots.map(placeOf);
  const objects = places.map(({ bucket, prefix }) => arn(`${bucket}/${prefix}*`));
  const statements = [new PolicyStatement({ sid: 'Objects', actions: [...ACTIONS[access]], resources: objects })];
  if (access !== 'rewrite') {
    const own = places.map(({ bucket, prefix }) => arn(`${bucket}/${prefix}${OWNER_KEY}`));
    // Taken back when another ledger claimed a root around it, or inside of it, in the same moment.
    const claim = ['s3:PutObject', 's3:DeleteObject'];
    statements.push(new PolicyStatement({ sid: 'OwnerMarker', actions: claim, resources: own }));
  }
  // Whether a root lies inside of another ledger's is said by the markers above it: those may be read, and nothing else up there.
  const around = [...new Set(roots.flatMap((root) => markersAbove(root).slice(1)))].map((uri) =>
    uri.slice('s3://'.length),
  );
  if (around.length > 0) {
    statements.push(
      new PolicyStatement({ sid: 'MarkersAround', actions: ['s3:GetObject'], resources: around.map(arn) }),
    );
  }
  // Also what makes S3 answer 404 instead of 403 for a key that is absent, such as the manifest of the next version.
  const listed = groupedByBucket([
    ...places.map(({ bucket, prefix }) => ({ bucket, prefix: `${prefix}*` })),
    ...around.map((path) => {
      const [bucket = '', ...key] = path.split('/');
      return { bucket, prefix: key.join('/') };
    }),
  ]);
  for (const [index, [bucket, prefixes]] of [...listed].entries()) {
    const conditions = prefixes.includes('*') ? {} : { StringLike: { 's3:prefix': prefixes } };
    const sid = `List${index}`;
    statements.push(new PolicyStatement({ sid, actions: ['s3:ListBucket'], resources: [arn(bucket)], conditions }));
  }
  return statements;
}

/** One statement a bucket: the policies of a role may not be longer than 10,240 characters. */
function groupedByBucket(places: readonly { bucket: string; prefix: string }[]): ReadonlyMap<string, string[]> {
  const grouped = new Map<string, string[]>();
  for (const { bucket, prefix } of places) grouped.set(bucket, [...(grouped.get(bucket) ?? []), prefix]);
  return grouped;
}

function placeOf(root: string): { bucket: string; prefix: string } {
  const [bucket = '', ...folders] = root.slice('s3://'.length).split('/');
  return { bucket, prefix: folders.length === 0 ? '' : `${folders.join('/')}/` };
}
