import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.ts';
import { type Control, createControl } from '../control.ts';
import { UpkeepError } from '../errors.ts';
import { canonicalRoot, canonicalTarget } from '../fleet/targets.ts';
import { createPauses } from '../pauses.ts';
import { type Plane, type ProgressEvent, type RunReport, SCHEMA_VERSION } from '../plane.ts';
import { isAtRest } from '../tasks/at-rest.ts';
import { TASK_KINDS } from '../tasks/task.ts';
import { createViews, taskReport, type Views } from '../views.ts';
import { previewPrune } from '../work/preview-prune.ts';
import type { AwsEnvironment } from './clients.ts';
import { type Cloud, type CloudParts, openCloud } from './cloud.ts';
import { namesFromEnvironment, namesFromOutputs, ROOTS_OUTPUT } from './names.ts';
import { type ReadOutputs, readStackOutputs } from './stack-outputs.ts';

export interface StackPlaneOptions {
  /** Name of the deployed stack; without it the environment names table and queues. */
  readonly stack?: string;
  /** Roots of the command line or of UPKEEP_ROOTS; those of the stack come first. */
  readonly roots: readonly string[];
  readonly settings: Settings;
  readonly environment: AwsEnvironment;
  readonly onProgress?: (event: ProgressEvent) => void;
  readonly readOutputs?: ReadOutputs;
  readonly parts?: CloudParts;
}

const POLL_MS = 1_000;

/**
 * The plane of a deployed stack: reads its ledger and its tables, and asks for tasks; the stack's functions do the work.
 * Errors: STACK_NOT_FOUND, CLOUD_NAME_MISSING, ROOT_INVALID.
 */
export async function openStackPlane(options: StackPlaneOptions): Promise<Plane> {
  const { stack, environment, settings } = options;
  const outputs = stack === undefined ? undefined : await (options.readOutputs ?? readStackOutputs)(stack);
  const names = outputs === undefined ? namesFromEnvironment(environment) : namesFromOutputs(outputs, stack ?? '');
  const ofStack = (outputs?.get(ROOTS_OUTPUT) ?? '').split(',').filter((root) => root !== '');
  const roots = await Promise.all((ofStack.length > 0 ? ofStack : options.roots).map(canonicalRoot));
  const cloud = openCloud(environment, { settings, ...options.parts, names });
  return new StackPlane(cloud, createControl({ ...cloud, roots }), roots, options.onProgress ?? (() => undefined));
}

class StackPlane implements Plane {
  readonly #cloud: Cloud;
  readonly #control: Control;
  readonly #views: Views;
  readonly #roots: readonly string[];
  readonly #onProgress: (event: ProgressEvent) => void;
  readonly #pauses: ReturnType<typeof createPauses>;

  constructor(cloud: Cloud, control: Control, roots: readonly string[], onProgress: (event: ProgressEvent) => void) {
    this.#cloud = cloud;
    this.#control = control;
    this.#roots = roots;
    this.#onProgress = onProgress;
    this.#views = createViews({ ...cloud, control, roots });
    this.#pauses = createPauses({ lifecycle: control.lifecycle, roots, clock: cloud.clock });
  }

  async run(): Promise<RunReport> {
    throw new UpkeepError('The stack maintains its roots by itself, so there is nothing to run here.', {
      code: 'RUN_ON_STACK',
      disposition: 'permanent',
      next: 'Use "send" to ask for one task, or leave --stack out and give --ledger to maintain other roots from this machine.',
    });
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
    const target = await canonicalTarget(named, this.#roots);
    const now = () => this.#cloud.clock.now();
    return previewPrune({ storageFor: this.#cloud.storageFor, settings: this.#cloud.settings, now }, target);
  }

  async send(request: Parameters<Plane['send']>[0], { wait, signal }: Parameters<Plane['send']>[1]) {
    const { kind, dependsOn, force } = request;
    const target = await canonicalTarget(request.target, this.#roots);
    // A table that cannot be read is refused here, before anything is written down for it.
    await this.#views.observe(target);
    const { lifecycle } = this.#control;
    const admitted = await lifecycle.admit({
      taskId: this.#cloud.newId(),
      kind,
      target,
      dependsOn,
      reason: 'manual',
      force,
    });
    // The stream nudges, too; this one does not depend on it.
    if (admitted.task.state === 'queued') await lifecycle.nudge(admitted.task);
    if (wait) await this.#waitFor(admitted.taskId, signal);
    const task = (await lifecycle.getTask(admitted.taskId)) ?? admitted.task;
    return { schemaVersion: SCHEMA_VERSION, taskId: admitted.taskId, joined: admitted.joined, task: taskReport(task) };
  }

  async deadLetters({ lane, limit }: Parameters<Plane['deadLetters']>[0]) {
    const lanes = lane === undefined ? TASK_KINDS : [lane];
    const found = (await Promise.all(lanes.map((one) => this.#cloud.queue.deadLetters(one, limit)))).flat();
    const letters = found.sort((a, b) => b.deadAt - a.deadAt).slice(0, limit);
    return {
      schemaVersion: SCHEMA_VERSION,
      letters: letters.map((letter) => ({ ...letter, deadAt: new Date(letter.deadAt).toISOString() })),
    };
  }

  async redrive(messageId: string): Promise<boolean> {
    for (const lane of TASK_KINDS) {
      const outcome = await this.#cloud.queue.redrive(lane, messageId);
      if (outcome === 'not found') continue;
      if (outcome === 'sent, letter stays') {
        const message = `It was sent, but the letter itself could not be removed: "lance-upkeep dlq delete ${messageId}" does.`;
        this.#onProgress({ at: this.#cloud.clock.now(), stage: 'progress', message, kind: lane, messageId });
      }
      return true;
    }
    return false;
  }

  async deleteLetter(messageId: string): Promise<boolean> {
    for (const lane of TASK_KINDS) if (await this.#cloud.queue.deleteLetter(lane, messageId)) return true;
    return false;
  }

  pause(request: Parameters<Plane['pause']>[0]) {
    return this.#pauses.pause(request);
  }

  resume(request: Parameters<Plane['resume']>[0]) {
    return this.#pauses.resume(request);
  }

  async close(): Promise<void> {
    // Connections are the SDK's, and go with the process.
  }

  async #waitFor(taskId: string, signal: AbortSignal): Promise<void> {
    const { lifecycle } = this.#control;
    let told = '';
    while (!signal.aborted) {
      const task = await lifecycle.getTask(taskId);
      if (!task || (await isAtRest(lifecycle, taskId, this.#cloud.clock.now()))) return;
      if (task.state !== told) {
        told = task.state;
        const { target, kind } = task;
        const stage = task.state === 'running' ? 'started' : 'waiting';
        this.#onProgress({ at: this.#cloud.clock.now(), stage, message: task.state, target, kind, taskId });
      }
      await sleep(POLL_MS, undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }
}
