import { randomUUID } from 'node:crypto';
import type { Settings } from '../config.ts';
import { errorRecord, type UpkeepError } from '../errors.ts';
import { createRootOwnership, isForeignRoot, type RootOwnership } from '../fleet/root-ownership.ts';
import { canonicalRoot, canonicalTarget } from '../fleet/targets.ts';
import { createPauses } from '../pauses.ts';
import { createPipeline, type Pipeline } from '../pipeline.ts';
import { type Plane, type ProgressEvent, type RunReport, SCHEMA_VERSION } from '../plane.ts';
import { isAtRest } from '../tasks/at-rest.ts';
import { ledgerId } from '../tasks/ledger-id.ts';
import { messageRetentionMs } from '../tasks/retention.ts';
import { systemClock } from '../tasks/system-clock.ts';
import { TASK_KINDS } from '../tasks/task.ts';
import { createViews, taskReport, type Views } from '../views.ts';
import { createLancedb } from '../work/lancedb.ts';
import { previewPrune } from '../work/preview-prune.ts';
import { holderGone, processIdentity } from './process-identity.ts';
import { createPump, type Pump } from './pump.ts';
import { resumeInterrupted } from './resume.ts';
import { createRunAccount, type RunAccount } from './run-account.ts';
import { runOnce, runWatch } from './runner.ts';
import { createSqliteLedger, type SqliteLedger } from './sqlite-ledger.ts';
import { createSqliteQueue, type SqliteQueue } from './sqlite-queue.ts';
import { type Storage, storageOf } from './storage.ts';

export interface PlaneOptions {
  /** As the user named them; made canonical here. */
  readonly roots: readonly string[];
  readonly ledgerFile: string;
  readonly settings: Settings;
  readonly onProgress?: (event: ProgressEvent) => void;
}

/** Compactions and index builds use all cores themselves: more at once would only take each other's memory. */
const HEAVY_AT_ONCE = 1;

/**
 * The whole product embedded on this machine: ledger and lanes in one SQLite file, tables on the local disk or under s3://.
 * Errors: ROOT_INVALID, LEDGER_NOT_OPENED, LEDGER_SCHEMA_NEWER.
 * @example
 * const plane = await openPlane({ roots: ['/data/db'], ledgerFile: '/var/lib/upkeep.sqlite', settings: loadSettings(process.env) });
 * const report = await plane.run({ once: true, signal: AbortSignal.timeout(600_000) });
 */
export async function openPlane(options: PlaneOptions): Promise<Plane> {
  const roots = outermost(await Promise.all(options.roots.map(canonicalRoot)));
  const storage = await storageOf(roots, process.env);
  const ledger = createSqliteLedger({ file: options.ledgerFile, clock: systemClock });
  const queue = createSqliteQueue({
    file: options.ledgerFile,
    clock: systemClock,
    retentionMs: messageRetentionMs(options.settings.taskHistoryMs),
  });
  return new LocalPlane({ ...options, roots }, storage, ledger, queue);
}

/** Each table belongs to one root: a root given twice, or inside another one, adds nothing. */
function outermost(roots: readonly string[]): string[] {
  const distinct = [...new Set(roots)];
  return distinct.filter(
    (root) => !distinct.some((other) => other !== root && root.startsWith(`${other.replace(/\/$/, '')}/`)),
  );
}

class LocalPlane implements Plane {
  readonly #options: PlaneOptions;
  readonly #storage: Storage;
  readonly #ledger: SqliteLedger;
  readonly #queue: SqliteQueue;
  readonly #pipeline: Pipeline;
  readonly #ownership: RootOwnership;
  readonly #views: Views;
  readonly #pauses: ReturnType<typeof createPauses>;
  readonly #account: RunAccount;
  #committed = 0;

  constructor(options: PlaneOptions, storage: Storage, ledger: SqliteLedger, queue: SqliteQueue) {
    this.#options = options;
    this.#storage = storage;
    this.#ledger = ledger;
    this.#queue = queue;
    this.#ownership = createRootOwnership({
      storageFor: storage.storageFor,
      owner: async () => ({ ledgerId: await ledgerId(ledger, randomUUID), ledger: options.ledgerFile }),
      now: () => systemClock.now(),
    });
    this.#pipeline = createPipeline({
      ledger,
      queue,
      clock: systemClock,
      settings: options.settings,
      roots: options.roots,
      storageFor: storage.storageFor,
      belowRoot: (root) => this.#ownership.assertOwned(root),
      lancedb: createLancedb({
        storageOptions: storage.lancedbOptions,
        sliceBytes: options.settings.mergeSliceBytes,
      }),
      holder: processIdentity(),
      random: Math.random,
      newId: randomUUID,
      exit: (error) => this.#exit(error),
      holderGone,
      onProgress: (event) => this.#onProgress(event),
      onResult: (result) => {
        if (!result.rewroteNothing) this.#committed += 1;
      },
    });
    const { settings, roots } = options;
    this.#pauses = createPauses({ lifecycle: this.#pipeline.lifecycle, roots, clock: systemClock });
    this.#views = createViews({
      control: this.#pipeline,
      storageFor: storage.storageFor,
      roots,
      settings,
      clock: systemClock,
    });
    this.#account = createRunAccount({
      lifecycle: this.#pipeline.lifecycle,
      observe: (target) => this.#views.observe(target),
      storageFor: storage.storageFor,
      roots,
    });
  }

  async run({ once, signal }: { readonly once: boolean; readonly signal: AbortSignal }): Promise<RunReport> {
    await this.#assertOwned();
    const { settings } = this.#options;
    // A root that another ledger took meanwhile ends the whole run: what runs releases its lease.
    const refused = new AbortController();
    const stop = AbortSignal.any([signal, refused.signal]);
    const runner = {
      pipeline: { ...this.#pipeline, sweep: this.#sweepUntilRefused(refused) },
      pump: this.#pump(stop),
      settings,
      clock: systemClock,
      signal: stop,
      onProgress: (event: ProgressEvent) => this.#onProgress(event),
      wake: () => this.#wake(),
      resume: () => this.#resume(),
      progressMade: () => this.#committed,
    };
    if (once) await runOnce(runner);
    else await runWatch(runner);
    refused.signal.throwIfAborted();
    return this.#account.report();
  }

  #sweepUntilRefused(refused: AbortController): Pipeline['sweep'] {
    return async (kind, signal) => {
      try {
        return await this.#pipeline.sweep(kind, signal);
      } catch (error) {
        if (isForeignRoot(errorRecord(error))) refused.abort(error);
        throw error;
      }
    };
  }

  inspect(target: string) {
    return this.#views.inspect(target);
  }

  status(root?: string) {
    return this.#views.status(root);
  }

  explain(target: string) {
    return this.#views.explain(target);
  }

  history(options: Parameters<Plane['history']>[0]) {
    return this.#views.history(options);
  }

  async previewPrune(named: string) {
    const target = await canonicalTarget(named, this.#options.roots);
    const now = () => systemClock.now();
    return previewPrune({ storageFor: this.#storage.storageFor, settings: this.#options.settings, now }, target);
  }

  async send(request: Parameters<Plane['send']>[0], options: Parameters<Plane['send']>[1]) {
    const target = await canonicalTarget(request.target, this.#options.roots);
    // A table that cannot be read is refused here, before anything is written down for it.
    await this.#views.observe(target);
    await this.#assertOwned();
    const { lifecycle } = this.#pipeline;
    const { taskId, joined, task } = await lifecycle.admit({
      taskId: randomUUID(),
      kind: request.kind,
      target,
      dependsOn: request.dependsOn,
      reason: 'manual',
      force: request.force,
    });
    this.#account.touch(taskId);
    if (options.wait) await this.#waitFor(taskId, options.signal);
    const now = (await lifecycle.getTask(taskId)) ?? task;
    return { schemaVersion: SCHEMA_VERSION, taskId, joined, task: taskReport(now) };
  }

  async deadLetters({ lane, limit }: Parameters<Plane['deadLetters']>[0]) {
    const lanes = lane === undefined ? TASK_KINDS : [lane];
    const found = (await Promise.all(lanes.map((one) => this.#queue.deadLetters(one, limit)))).flat();
    const letters = found.sort((a, b) => b.deadAt - a.deadAt).slice(0, limit);
    return {
      schemaVersion: SCHEMA_VERSION,
      letters: letters.map((letter) => ({ ...letter, deadAt: new Date(letter.deadAt).toISOString() })),
    };
  }

  redrive(messageId: string): Promise<boolean> {
    return this.#queue.redrive(messageId);
  }

  deleteLetter(messageId: string): Promise<boolean> {
    return this.#queue.deleteLetter(messageId);
  }

  pause(request: Parameters<Plane['pause']>[0]) {
    return this.#pauses.pause(request);
  }

  resume(request: Parameters<Plane['resume']>[0]) {
    return this.#pauses.resume(request);
  }

  async close(): Promise<void> {
    this.#queue.close();
    this.#ledger.close();
  }

  async #waitFor(taskId: string, signal: AbortSignal): Promise<void> {
    const { lifecycle } = this.#pipeline;
    await lifecycle.recover();
    await this.#pump(signal).until(() => isAtRest(lifecycle, taskId, systemClock.now()));
  }

  #pump(signal: AbortSignal): Pump {
    const { mergeWalConcurrency } = this.#options.settings;
    return createPump({
      lifecycle: this.#pipeline.lifecycle,
      worker: this.#pipeline.worker,
      feed: this.#ledger.feed,
      queue: this.#queue,
      clock: systemClock,
      capacity: {
        Compact: HEAVY_AT_ONCE,
        IndexId: HEAVY_AT_ONCE,
        MergeWal: mergeWalConcurrency,
        OptimizeIndices: HEAVY_AT_ONCE,
        Prune: HEAVY_AT_ONCE,
      },
      signal,
    });
  }

  /** A second ledger on the same tables would be a second lease on each, whether on this root, around it or inside. */
  async #assertOwned(): Promise<void> {
    for (const root of this.#options.roots) await this.#ownership.assertOwned(root);
  }

  /** A nudge may have been used up by a runner of other roots, which cannot run the task. */
  async #wake(): Promise<void> {
    const { lifecycle } = this.#pipeline;
    await lifecycle.recover();
    for (const target of (await this.#account.knownStores()).targets) {
      for (const task of await lifecycle.openTasks(target)) if (task.state === 'queued') await lifecycle.nudge(task);
    }
  }

  async #resume(): Promise<number> {
    return resumeInterrupted(this.#pipeline.lifecycle, (await this.#account.knownStores()).targets, randomUUID);
  }

  /** A native call may commit after the lease is gone: nothing may wait for it. */
  #exit(error: UpkeepError): void {
    this.#onProgress({ at: systemClock.now(), stage: 'failed', message: `${error.code}: ${error.message}` });
    process.exit(75);
  }

  #onProgress(event: ProgressEvent): void {
    if (event.taskId !== undefined) this.#account.touch(event.taskId);
    this.#options.onProgress?.(event);
  }
}
