import { CLOUD_VARIABLES, STACK_VARIABLE, TABLE_VARIABLE } from '../src/aws/names.ts';
import type { Settings } from '../src/config.ts';
import { UpkeepError } from '../src/errors.ts';
import { concurrencyCap, TASK_KINDS } from '../src/tasks/task.ts';
import { rootStatements } from './constructs/data-access.ts';

/*
 * What AWS refuses only in the middle of a deployment is refused here, before anything is made. All throw SETTING_INVALID or
 * ROOT_INVALID (permanent).
 */

const LARGEST_ENVIRONMENT = 4_096;
const LARGEST_ROLE_POLICIES = 10_240;
const LARGEST_EVENT_SOURCE_CAP = 1_000;
export const LEAST_EVENT_SOURCE_CAP = 2;
/** Of a queue's or table's name: CloudFormation puts the stack's name before ours, and 13 characters behind it. */
const LONGEST_QUEUE_NAME = 80;
const LONGEST_OWN_PART = 'OptimizeIndicesDeadLetters28A4A625'.length;
const QUEUE_URL = 'https://sqs.ap-northeast-1.amazonaws.com/123456789012/'.length;

export function settingRefused(name: string, value: string, why: string): UpkeepError {
  return new UpkeepError(`${name}=${JSON.stringify(value)} cannot be used: ${why}.`, {
    code: 'SETTING_INVALID',
    disposition: 'permanent',
    next: `Correct ${name}, or leave it out; docs/deploy.md has the limits.`,
    details: { name, value },
  });
}

export function assertStackName(name: string): void {
  if (/^[A-Za-z][A-Za-z0-9-]{0,127}$/.test(name)) return;
  throw settingRefused(
    'stackName',
    name,
    'CloudFormation takes letters, digits and hyphens, a letter first, at most 128',
  );
}

/** Also without quiet hours: a setting that is wrong is not left lying about. */
export function assertTimeZone(name: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    if (/^[A-Z]/.test(name)) return;
  } catch {
    // Intl knows the same list as the scheduler, the one of IANA.
  }
  throw settingRefused('timeZone', name, 'it is no name of the IANA time zone database, such as Europe/Berlin');
}

/** @param root `s3://bucket` or `s3://bucket/prefix` */
export function assertBucket(root: string): void {
  const [bucket = ''] = root.slice('s3://'.length).split('/');
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) && !/\.\.|^\d+\.\d+\.\d+\.\d+$/.test(bucket)) return;
  throw new UpkeepError(
    `The root ${root} cannot be used: ${JSON.stringify(bucket)} is no name that a bucket can have.`,
    {
      code: 'ROOT_INVALID',
      disposition: 'permanent',
      next: 'Buckets have 3 to 63 lower-case letters, digits, dots and hyphens, the first and the last a letter or digit.',
      details: { root },
    },
  );
}

export function assertCaps(settings: Settings, reserved: boolean): void {
  for (const kind of TASK_KINDS) {
    const cap = concurrencyCap(kind, settings);
    const name = capName(kind);
    if (cap > LARGEST_EVENT_SOURCE_CAP) {
      throw settingRefused(name, String(cap), `an event source runs at most ${LARGEST_EVENT_SOURCE_CAP} at once`);
    }
    if (!reserved && cap < LEAST_EVENT_SOURCE_CAP) {
      throw settingRefused(name, String(cap), 'with reservedConcurrency=false a cap has to be 2 or more');
    }
  }
}

/** The variables of every function: the settings, the roots, and names that CloudFormation makes. */
export function assertEnvironment(variables: Readonly<Record<string, string>>, stackName: string): void {
  const madeName = Math.min(LONGEST_QUEUE_NAME, stackName.length + LONGEST_OWN_PART + 15);
  const made = CLOUD_VARIABLES.map((name) => {
    if (name === STACK_VARIABLE) return name.length + stackName.length;
    return name.length + madeName + (name === TABLE_VARIABLE ? 0 : QUEUE_URL);
  });
  const given = Object.entries(variables).map(([name, value]) => name.length + Buffer.byteLength(value));
  const bytes = [...made, ...given].reduce((sum, one) => sum + one, 0);
  if (bytes <= LARGEST_ENVIRONMENT) return;
  throw tooManyRoots(`the functions’ environment would be ${bytes} bytes, and Lambda takes ${LARGEST_ENVIRONMENT}`);
}

/** What a function's rights take at most beside those on the roots, in characters: its log, keys, network, ledger and queues. */
const OTHER_RIGHTS = 3_600;

export function assertRights(roots: readonly string[]): void {
  // The sweep's are the longest: it may do least.
  const statements = rootStatements(roots, 'look', (path) => `arn:aws-us-gov:s3:::${path}`);
  const ofRoots = JSON.stringify(statements.map((statement) => statement.toStatementJson())).length;
  const size = OTHER_RIGHTS + ofRoots;
  if (size <= LARGEST_ROLE_POLICIES) return;
  throw tooManyRoots(`a function’s rights would be up to ${size} characters, and IAM takes ${LARGEST_ROLE_POLICIES}`);
}

function tooManyRoots(why: string): UpkeepError {
  return new UpkeepError(`There are too many roots, or too long ones, for one stack: ${why}.`, {
    code: 'ROOT_INVALID',
    disposition: 'permanent',
    next: 'Name a prefix around several of them, or split them over two stacks.',
  });
}

/** @example capName('MergeWal') // MERGE_WAL_CONCURRENCY */
function capName(kind: string): string {
  return `${kind.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}_CONCURRENCY`;
}
