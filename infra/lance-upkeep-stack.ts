import { CfnOutput, Stack } from 'aws-cdk-lib';
import { LayerVersion, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type CloudNames, environmentOf, outputsOf, ROOTS_OUTPUT, STACK_VARIABLE } from '../src/aws/names.ts';
import { concurrencyCap, TASK_KINDS, type TaskKind } from '../src/tasks/task.ts';
import type { DataAccess } from './constructs/data-access.ts';
import { Ledger } from './constructs/ledger.ts';
import { Sweeps } from './constructs/sweeps.ts';
import type { UpkeepFunction } from './constructs/upkeep-function.ts';
import { Watch } from './constructs/watch.ts';
import { WorkQueue } from './constructs/work-queue.ts';
import { type FunctionName, NATIVE_FUNCTIONS } from './packaging/function-bundle.ts';
import { localPackages, type Packages } from './packaging/packages.ts';
import type { StackSettings } from './settings.ts';

export interface LanceUpkeepStackProps {
  readonly settings: StackSettings;
  /** Where the functions' code comes from. @default - bundled here and now */
  readonly packages?: Packages;
}

/** What runs a queue's tasks, and what it may do to the tables. Building an index deletes nothing. */
const WORKERS: Readonly<Record<TaskKind, { readonly entry: FunctionName; readonly access: DataAccess }>> = {
  Compact: { entry: 'compact', access: 'rewrite' },
  IndexId: { entry: 'index-id', access: 'add' },
  MergeWal: { entry: 'merge-wal', access: 'rewrite' },
  OptimizeIndices: { entry: 'optimize-indices', access: 'rewrite' },
  Prune: { entry: 'prune', access: 'rewrite' },
};

/** The whole stack: ledger and its stream, a queue for each kind of task, the sweeps, and what watches over them. */
export class LanceUpkeepStack extends Stack {
  constructor(scope: Construct, id: string, { settings, packages = localPackages }: LanceUpkeepStackProps) {
    super(scope, id, {
      stackName: settings.stackName,
      description: 'lance-upkeep: compaction, key index and MemWAL merge for LanceDB tables on S3',
    });
    const context = { settings, packages };
    const ledger = new Ledger(this, 'Ledger', context);
    const queues = TASK_KINDS.map(
      (kind) => new WorkQueue(this, kind, { ...context, kind, concurrency: concurrencyCap(kind, settings.settings) }),
    );
    const names = namesOf(ledger, queues);
    const own = { ...environmentOf(names), [STACK_VARIABLE]: settings.stackName };
    const shared = { names: own, queues, ledger: ledger.table };
    const nativeLayer = new LayerVersion(this, 'Lancedb', {
      description: 'LanceDB and apache-arrow with the native library',
      code: packages.layerCode(settings.architecture),
      compatibleRuntimes: [Runtime.NODEJS_24_X],
    });
    const workers = new Map<TaskKind, UpkeepFunction>();
    for (const queue of queues) {
      const worker = WORKERS[queue.kind];
      const native = NATIVE_FUNCTIONS.includes(worker.entry) ? { nativeLayer } : {};
      workers.set(queue.kind, queue.addWorker({ ...shared, ...worker, ...native }));
    }
    const stream = ledger.addStreamFunction(shared);
    const { sweep } = new Sweeps(this, 'Sweeps', { ...context, ...shared });
    if (settings.alarms) new Watch(this, 'Watch', { settings, ledger, queues, workers, stream, sweep });
    const outputs = {
      ...outputsOf(names),
      [ROOTS_OUTPUT]: settings.roots.join(','),
      StreamFailures: ledger.streamFailures.queueUrl,
      ...functionOutputs([...workers, ['Sweep', sweep], ['Stream', stream]]),
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}

/** What the runbook speaks of, by name. */
function functionOutputs(functions: readonly (readonly [string, UpkeepFunction])[]): Record<string, string> {
  const entries = functions.flatMap(([name, { function: one, logGroup }]) => [
    [`${name}Function`, one.functionName],
    [`${name}Logs`, logGroup.logGroupName],
  ]);
  return Object.fromEntries(entries);
}

function namesOf({ table }: Ledger, queues: readonly WorkQueue[]): CloudNames {
  const urls = queues.map(({ kind, queue, deadLetters }) => [
    kind,
    { url: queue.queueUrl, deadLetters: deadLetters.queueUrl },
  ]);
  return { table: table.tableName, queues: Object.fromEntries(urls) as CloudNames['queues'] };
}
