import { CfnOutput, Stack } from 'aws-cdk-lib';
import { LayerVersion, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type CloudNames, environmentOf, outputsOf, ROOTS_OUTPUT, STACK_VARIABLE } from '../src/aws/names.ts';
import { laneCap, TASK_KINDS, type TaskKind } from '../src/tasks/task.ts';
import type { DataAccess } from './constructs/data-access.ts';
import { Lane } from './constructs/lane.ts';
import { Ledger } from './constructs/ledger.ts';
import type { PlaneFunction } from './constructs/plane-function.ts';
import { Sweeps } from './constructs/sweeps.ts';
import { Watch } from './constructs/watch.ts';
import { type FunctionName, NATIVE_FUNCTIONS } from './packaging/function-bundle.ts';
import { localPackages, type Packages } from './packaging/packages.ts';
import type { StackSettings } from './settings.ts';

export interface LanceUpkeepStackProps {
  readonly settings: StackSettings;
  /** Where the functions' code comes from. @default - bundled here and now */
  readonly packages?: Packages;
}

/** What runs a lane's tasks, and what it may do to the tables. Building an index deletes nothing. */
const WORKERS: Readonly<Record<TaskKind, { readonly entry: FunctionName; readonly access: DataAccess }>> = {
  Compact: { entry: 'compact', access: 'rewrite' },
  IndexId: { entry: 'index-id', access: 'add' },
  MergeWal: { entry: 'merge-wal', access: 'rewrite' },
  OptimizeIndices: { entry: 'optimize-indices', access: 'rewrite' },
  Prune: { entry: 'prune', access: 'rewrite' },
};

/** The whole plane: ledger and its stream, a lane for each kind of task, the sweeps, and what watches over them. */
export class LanceUpkeepStack extends Stack {
  constructor(scope: Construct, id: string, { settings, packages = localPackages }: LanceUpkeepStackProps) {
    super(scope, id, {
      stackName: settings.stackName,
      description: 'lance-upkeep: compaction, key index and MemWAL merge for LanceDB tables on S3',
    });
    const context = { settings, packages };
    const ledger = new Ledger(this, 'Ledger', context);
    const lanes = TASK_KINDS.map(
      (kind) => new Lane(this, kind, { ...context, kind, concurrency: laneCap(kind, settings.settings) }),
    );
    const names = namesOf(ledger, lanes);
    const own = { ...environmentOf(names), [STACK_VARIABLE]: settings.stackName };
    const shared = { names: own, lanes, ledger: ledger.table };
    const nativeLayer = new LayerVersion(this, 'Lancedb', {
      description: 'LanceDB and apache-arrow with the native library',
      code: packages.layerCode(settings.architecture),
      compatibleRuntimes: [Runtime.NODEJS_24_X],
    });
    const workers = new Map<TaskKind, PlaneFunction>();
    for (const lane of lanes) {
      const worker = WORKERS[lane.kind];
      const native = NATIVE_FUNCTIONS.includes(worker.entry) ? { nativeLayer } : {};
      workers.set(lane.kind, lane.addWorker({ ...shared, ...worker, ...native }));
    }
    const stream = ledger.addStreamFunction(shared);
    const { sweep } = new Sweeps(this, 'Sweeps', { ...context, ...shared });
    if (settings.alarms) new Watch(this, 'Watch', { settings, ledger, lanes, workers, stream, sweep });
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
function functionOutputs(functions: readonly (readonly [string, PlaneFunction])[]): Record<string, string> {
  const entries = functions.flatMap(([name, { function: one, logGroup }]) => [
    [`${name}Function`, one.functionName],
    [`${name}Logs`, logGroup.logGroupName],
  ]);
  return Object.fromEntries(entries);
}

function namesOf({ table }: Ledger, lanes: readonly Lane[]): CloudNames {
  const queues = lanes.map(({ kind, queue, deadLetters }) => [
    kind,
    { url: queue.queueUrl, deadLetters: deadLetters.queueUrl },
  ]);
  return { table: table.tableName, queues: Object.fromEntries(queues) as CloudNames['queues'] };
}
