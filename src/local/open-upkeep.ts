import { randomUUID } from 'node:crypto';
import type { Settings } from '../config.ts';
import { canonicalRoot } from '../fleet/targets.ts';
import { openStorage } from '../storage/open-storage.ts';
import { ledgerId } from '../tasks/ledger-id.ts';
import { messageRetentionMs } from '../tasks/retention.ts';
import { systemClock } from '../tasks/system-clock.ts';
import { createOperator } from '../upkeep/create-operator.ts';
import type { Operator, Runner } from '../upkeep/operator.ts';
import type { ProgressEvent } from '../upkeep/reports.ts';
import { createRootOwnership } from '../upkeep/root-ownership.ts';
import { RecentTasks } from '../upkeep/run-report.ts';
import { createWorkerRuntime } from '../upkeep/worker-runtime.ts';
import { createLancedb } from '../work/lancedb.ts';
import { createEmbeddedRunner } from './embedded-runner.ts';
import { holderGone, processIdentity } from './process-identity.ts';
import { createSqliteLedger } from './sqlite-ledger.ts';
import { createSqliteQueue } from './sqlite-queue.ts';

export interface UpkeepOptions {
  /** As the user named them. They are made canonical here. */
  readonly roots: readonly string[];
  readonly ledgerFile: string;
  readonly settings: Settings;
  readonly onProgress?: (event: ProgressEvent) => void;
}

/** The whole product in one process. */
export type Upkeep = Operator & Runner;

/**
 * Assembles the embedded product: ledger and queues in one SQLite file, tables on the local disk or under s3://.
 * Errors: ROOT_INVALID, LEDGER_NOT_OPENED, LEDGER_SCHEMA_NEWER, LEDGER_SCHEMA_OLDER.
 * @example
 * const upkeep = await openUpkeep({ roots: ['/data/db'], ledgerFile: '/var/lib/upkeep.sqlite', settings: loadSettings(process.env) });
 * const report = await upkeep.run({ once: true, signal: AbortSignal.timeout(600_000) });
 */
export async function openUpkeep({ ledgerFile, settings, ...options }: UpkeepOptions): Promise<Upkeep> {
  const roots = outermost(await Promise.all(options.roots.map(canonicalRoot)));
  const { storageFor, lancedbOptions } = await openStorage(roots, process.env);
  const clock = systemClock;
  const ledger = createSqliteLedger({ file: ledgerFile, clock });
  const queue = createSqliteQueue({
    file: ledgerFile,
    clock,
    retentionMs: messageRetentionMs(settings.taskHistoryMs),
  });
  const ownership = createRootOwnership({
    storageFor,
    owner: async () => ({ ledgerId: await ledgerId(ledger, randomUUID), ledger: ledgerFile }),
    now: () => clock.now(),
  });
  const recent = new RecentTasks();
  const onProgress = (event: ProgressEvent) => {
    if (event.taskId !== undefined) recent.note(event.taskId);
    options.onProgress?.(event);
  };
  let commits = 0;
  const runtime = createWorkerRuntime({
    ledger,
    queue,
    clock,
    settings,
    roots,
    storageFor,
    belowRoot: (root) => ownership.assertOwned(root),
    lancedb: createLancedb({ storageOptions: lancedbOptions, sliceBytes: settings.mergeSliceBytes }),
    holder: processIdentity(),
    random: Math.random,
    newId: randomUUID,
    // A native call might still commit after the lease is lost, so the process does not wait for it.
    exit(error) {
      onProgress({ at: clock.now(), stage: 'failed', message: `${error.code}: ${error.message}` });
      process.exit(75);
    },
    holderGone,
    onProgress,
    onResult(result) {
      if (!result.rewroteNothing) commits += 1;
    },
  });
  // A second ledger on the same tables would mean a second lease on each table. That holds for this root and for roots around or inside it.
  const assertOwned = async () => {
    for (const root of roots) await ownership.assertOwned(root);
  };
  const { waitFor, ...runner } = createEmbeddedRunner({
    runtime,
    queue,
    feed: ledger.feed,
    clock,
    settings,
    roots,
    storageFor,
    recent,
    assertOwned,
    commits: () => commits,
    newId: randomUUID,
    onProgress,
  });
  const operator = createOperator({
    planner: runtime,
    queue,
    storageFor,
    roots,
    settings,
    clock,
    newId: randomUUID,
    beforeAdmission: assertOwned,
    afterAdmission: async (task) => recent.note(task.id),
    waitFor,
    onProgress,
    async close() {
      queue.close();
      ledger.close();
    },
  });
  return { ...operator, ...runner };
}

/** Each table belongs to one root. A root that is given twice, or lies inside another one, adds nothing. */
function outermost(roots: readonly string[]): string[] {
  const distinct = [...new Set(roots)];
  return distinct.filter(
    (root) => !distinct.some((other) => other !== root && root.startsWith(`${other.replace(/\/$/, '')}/`)),
  );
}
