import { randomUUID } from 'node:crypto';
import { loadSettings, type Settings } from '../config.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { type AwsEnvironment, createS3Client } from '../storage/s3-client.ts';
import { createS3ObjectStore } from '../storage/s3-object-store.ts';
import type { Clock, Ledger } from '../tasks/ports.ts';
import { systemClock } from '../tasks/system-clock.ts';
import { createOwnedRoots, type OwnedRoots } from '../upkeep/owned-roots.ts';
import { createDynamoClient, createSqsClient } from './clients.ts';
import { createDynamoLedger } from './dynamo-ledger.ts';
import { createLog, type Log } from './log.ts';
import { createMetrics, type Metrics, metricNamespace } from './metrics.ts';
import { CLOUD_VARIABLES, type CloudNames, namesFromEnvironment, STACK_VARIABLE } from './names.ts';
import { createSqsQueue, type SqsQueue } from './sqs-queue.ts';

/** The ports on AWS, from one environment. What a function of the stack starts with. */
export interface Cloud {
  readonly names: CloudNames;
  readonly settings: Settings;
  readonly ledger: Ledger;
  readonly queue: SqsQueue;
  readonly storageFor: (uri: string) => ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly random: () => number;
  readonly newId: () => string;
}

/** Tests may replace any port. */
export type CloudOverrides = Partial<Cloud> & { readonly write?: (line: string) => void };

/** @throws SETTING_INVALID, SETTING_UNKNOWN, CLOUD_NAME_MISSING (permanent) */
export function openCloud(environment: AwsEnvironment, overrides: CloudOverrides = {}): Cloud {
  const { write = (line: string) => void process.stdout.write(line), ...given } = overrides;
  const names = given.names ?? namesFromEnvironment(environment);
  const clock = given.clock ?? systemClock;
  const now = () => clock.now();
  const s3 = createS3Client(environment);
  const base = environment.AWS_LAMBDA_FUNCTION_NAME ? { function: environment.AWS_LAMBDA_FUNCTION_NAME } : {};
  return {
    names,
    settings: given.settings ?? loadSettings(environment, CLOUD_VARIABLES),
    ledger: createDynamoLedger({ client: createDynamoClient(), table: names.table }),
    queue: createSqsQueue({ client: createSqsClient(environment), queues: names.queues }),
    storageFor: (uri) => createS3ObjectStore({ client: s3, uri }),
    clock,
    log: createLog({ write, now, base }),
    metrics: createMetrics({ write, now, namespace: metricNamespace(environment[STACK_VARIABLE]) }),
    random: Math.random,
    newId: randomUUID,
    ...given,
  };
}

/** Checks that the roots belong to this stack alone. Its ledger remembers the result. */
export function ownedRootsOf({ ledger, names, storageFor, newId, clock }: Cloud, roots: readonly string[]): OwnedRoots {
  const now = () => clock.now();
  return createOwnedRoots({ ledger, ledgerName: names.table, roots, storageFor, newId, now });
}
