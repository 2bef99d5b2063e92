import { CLOUD_VARIABLES } from '../src/aws/names.ts';
import { loadSettings, type Settings, settingDefinitions } from '../src/config.ts';
import { UpkeepError } from '../src/errors.ts';
import { canonicalRoot } from '../src/fleet/targets.ts';
import { isOnS3 } from '../src/uri.ts';
import {
  assertBucket,
  assertCaps,
  assertEnvironment,
  assertRights,
  assertStackName,
  assertTimeZone,
  settingRefused as invalid,
} from './aws-limits.ts';
import { type QuietHours, quietHoursOf } from './quiet-hours.ts';

export type Architecture = 'x86_64' | 'arm64';

/** Everything that one deployment may differ in. */
export interface StackSettings {
  /** Name of the stack. @default LanceUpkeep */
  readonly stackName: string;
  /** Canonical `s3://bucket` or `s3://bucket/prefix`, at least one. */
  readonly roots: readonly string[];
  /** The product's own settings, as the functions read them. */
  readonly settings: Settings;
  /** The same as variables of the functions; each one is named, also where it has its default. */
  readonly variables: Readonly<Record<string, string>>;
  /** Of all functions and of the native library. @default x86_64 */
  readonly architecture: Architecture;
  /** Memory of the functions that load LanceDB, in MB. @default 3008 */
  readonly memoryMb: number;
  /** Key of table and queues. @default - the services' own encryption */
  readonly kmsKeyArn?: string;
  /** Key that the bucket's objects are encrypted with. @default - none of yours */
  readonly bucketKmsKeyArn?: string;
  /** Subnets of the functions; needs security groups as well. @default - no VPC */
  readonly subnetIds: readonly string[];
  /** Security groups of the functions. @default - no VPC */
  readonly securityGroupIds: readonly string[];
  /** Whether alarms and dashboard are made. @default true */
  readonly alarms: boolean;
  /** SNS topic that alarms report to. @default - alarms change colour only */
  readonly alarmTopicArn?: string;
  /** Hours in which no table is looked at; repairs go on. @default - none */
  readonly quietHours?: QuietHours;
  /** @default 30 */
  readonly logRetentionDays: number;
  /** Whether the caps of the queues are reserved in the account; else only their event sources keep them. @default true */
  readonly reservedConcurrency: boolean;
  /** Whether DynamoDB itself refuses to delete the table. @default false: a first deployment could not be rolled back */
  readonly deletionProtection: boolean;
}

/** The words of `-c name=value` beside the product's own settings. */
export const WORDS = [
  'stackName',
  'roots',
  'architecture',
  'memoryMb',
  'kmsKeyArn',
  'bucketKmsKeyArn',
  'subnetIds',
  'securityGroupIds',
  'alarms',
  'alarmTopicArn',
  'quietHours',
  'timeZone',
  'logRetentionDays',
  'reservedConcurrency',
  'deletionProtection',
] as const;

type Word = (typeof WORDS)[number];

/** Log retentions that CloudWatch knows, in days. */
const RETENTIONS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653];

/**
 * Reads the settings of a deployment. A context value (`cdk deploy -c MIN_FRAGMENTS=32`) goes before the environment's.
 * @throws UpkeepError SETTING_INVALID, SETTING_UNKNOWN, ROOTS_MISSING, ROOT_INVALID (all permanent).
 */
export async function stackSettings(
  context: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<StackSettings> {
  const own = ownContext(context);
  const word = (name: Word): string | undefined => own[name] || undefined;
  const named = Object.fromEntries(Object.entries(own).filter(([name]) => !WORDS.includes(name as Word)));
  const given = { ...environment, ...named, ...(word('roots') ? { UPKEEP_ROOTS: own.roots } : {}) };
  const settings = loadSettings(given, CLOUD_VARIABLES);
  const roots = await Promise.all(settings.roots.map(s3Root));
  if (roots.length === 0) throw rootsMissing();
  roots.forEach(assertBucket);
  const vpc = { subnetIds: list(word('subnetIds')), securityGroupIds: list(word('securityGroupIds')) };
  if ((vpc.subnetIds.length === 0) !== (vpc.securityGroupIds.length === 0)) {
    throw invalid('subnetIds', word('subnetIds') ?? '', 'subnetIds and securityGroupIds go together');
  }
  const quietHours = quietHoursOf(word('quietHours'), word('timeZone'), settings);
  const flag = (name: Word, byDefault: 'true' | 'false') =>
    oneOf(name, word(name) ?? byDefault, ['true', 'false']) === 'true';
  const stackName = word('stackName') ?? 'LanceUpkeep';
  const reservedConcurrency = flag('reservedConcurrency', 'true');
  const variables = variablesOf(given, roots);
  assertStackName(stackName);
  assertTimeZone(word('timeZone') ?? 'UTC');
  assertCaps(settings, reservedConcurrency);
  assertEnvironment(variables, stackName);
  assertRights(roots);
  return {
    ...vpc,
    stackName,
    roots,
    settings,
    variables,
    architecture: oneOf('architecture', word('architecture') ?? 'x86_64', ['x86_64', 'arm64']),
    memoryMb: whole('memoryMb', word('memoryMb') ?? '3008', 1024, 10_240),
    alarms: flag('alarms', 'true'),
    reservedConcurrency,
    deletionProtection: flag('deletionProtection', 'false'),
    logRetentionDays: retention(word('logRetentionDays') ?? '30'),
    ...optional('kmsKeyArn', arn('kmsKeyArn', word('kmsKeyArn'), 'kms')),
    ...optional('bucketKmsKeyArn', arn('bucketKmsKeyArn', word('bucketKmsKeyArn'), 'kms')),
    ...optional('alarmTopicArn', arn('alarmTopicArn', word('alarmTopicArn'), 'sns')),
    ...optional('quietHours', quietHours),
  };
}

/** CDK keeps its own flags in the same place; theirs have a `:` or a `/` in their names. */
function ownContext(context: Readonly<Record<string, unknown>>): Record<string, string> {
  const settings = settingDefinitions.map(({ name }) => name);
  const entries = Object.entries(context).filter(([name]) => !/[:/]/.test(name) && name !== 'cli-telemetry');
  for (const [name] of entries) {
    if (WORDS.includes(name as Word) || settings.includes(name)) continue;
    // A typo of a setting gets its nearest name from the product's own check.
    loadSettings({ [name]: '' });
    throw new UpkeepError(`There is no context value ${name}.`, {
      code: 'SETTING_UNKNOWN',
      disposition: 'permanent',
      next: `Known are ${WORDS.join(', ')} and the names in docs/settings.md.`,
      details: { name },
    });
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function variablesOf(given: Readonly<Record<string, string | undefined>>, roots: readonly string[]) {
  const entries = settingDefinitions.map((setting) => [setting.name, given[setting.name] ?? setting.default] as const);
  return { ...Object.fromEntries(entries), UPKEEP_ROOTS: roots.join(',') };
}

async function s3Root(root: string): Promise<string> {
  if (isOnS3(root)) return canonicalRoot(root);
  throw new UpkeepError(`The root ${JSON.stringify(root)} cannot be maintained from AWS: it is not on S3.`, {
    code: 'ROOT_INVALID',
    disposition: 'permanent',
    next: 'Name roots as s3://bucket or s3://bucket/prefix.',
    details: { root },
  });
}

function rootsMissing(): UpkeepError {
  return new UpkeepError('No roots are named, so there is nothing to maintain.', {
    code: 'ROOTS_MISSING',
    disposition: 'permanent',
    next: 'Give them as -c roots=s3://bucket/prefix, several separated by commas.',
  });
}

function list(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((part) => part.trim() || []);
}

function oneOf<T extends string>(name: Word, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw invalid(name, value, `it must be ${allowed.join(' or ')}`);
  return found;
}

function whole(name: Word, value: string, least: number, most: number): number {
  const number = Number(value);
  if (/^[0-9]+$/.test(value) && number >= least && number <= most) return number;
  throw invalid(name, value, `it must be a whole number from ${least} to ${most}`);
}

function retention(value: string): number {
  const days = Number(value);
  if (RETENTIONS.includes(days)) return days;
  throw invalid('logRetentionDays', value, `CloudWatch knows ${RETENTIONS.join(', ')}`);
}

function arn(name: Word, value: string | undefined, service: string): string | undefined {
  if (value === undefined || new RegExp(`^arn:[a-z-]+:${service}:`).test(value)) return value;
  throw invalid(name, value, `it must be an ARN of ${service}`);
}

function optional<N extends string, T>(name: N, value: T | undefined): Partial<Record<N, T>> {
  return value === undefined ? {} : ({ [name]: value } as Record<N, T>);
}
