import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../config.ts';
import { canonicalRoot } from '../fleet/targets.ts';
import type { AwsEnvironment } from '../storage/s3-client.ts';
import { isAtRest } from '../tasks/at-rest.ts';
import { createOperator } from '../upkeep/create-operator.ts';
import type { Operator } from '../upkeep/operator.ts';
import { createPlanner } from '../upkeep/planner.ts';
import type { ProgressEvent } from '../upkeep/reports.ts';
import { type CloudOverrides, openCloud } from './cloud.ts';
import { namesFromEnvironment, namesFromOutputs, ROOTS_OUTPUT } from './names.ts';
import { type ReadOutputs, readStackOutputs } from './stack-outputs.ts';

export interface StackOptions {
  /** Name of the deployed stack. Without it, the environment names table and queues. */
  readonly stack?: string;
  /** Roots of the command line or of UPKEEP_ROOTS. The stack's own roots take precedence. */
  readonly roots: readonly string[];
  readonly settings: Settings;
  readonly environment: AwsEnvironment;
  readonly onProgress?: (event: ProgressEvent) => void;
  readonly readOutputs?: ReadOutputs;
  readonly overrides?: CloudOverrides;
}

const POLL_MS = 1_000;

/**
 * Assembles the operator of a deployed stack. It reads the stack's ledger and tables, and requests tasks; the stack's
 * functions do the work. Errors: STACK_NOT_FOUND, CLOUD_NAME_MISSING, ROOT_INVALID.
 */
export async function openStack(options: StackOptions): Promise<Operator> {
  const { stack, environment, settings, onProgress = () => undefined } = options;
  const outputs = stack === undefined ? undefined : await (options.readOutputs ?? readStackOutputs)(stack);
  const names = outputs === undefined ? namesFromEnvironment(environment) : namesFromOutputs(outputs, stack ?? '');
  const ofStack = (outputs?.get(ROOTS_OUTPUT) ?? '').split(',').filter((root) => root !== '');
  const roots = await Promise.all((ofStack.length > 0 ? ofStack : options.roots).map(canonicalRoot));
  const cloud = openCloud(environment, { settings, ...options.overrides, names });
  const { clock } = cloud;
  const planner = createPlanner({ ...cloud, roots });
  const { lifecycle } = planner;

  /** The functions do the work. This polls the ledger until they have finished. */
  async function waitFor(taskId: string, signal: AbortSignal): Promise<void> {
    let shown = '';
    while (!signal.aborted) {
      const task = await lifecycle.getTask(taskId);
      if (!task || (await isAtRest(lifecycle, taskId, clock.now()))) return;
      if (task.state !== shown) {
        shown = task.state;
        const { target, kind } = task;
        const stage = task.state === 'running' ? 'started' : 'waiting';
        onProgress({ at: clock.now(), stage, message: task.state, target, kind, taskId });
      }
      await sleep(POLL_MS, undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  return createOperator({
    ...cloud,
    planner,
    roots,
    // The stream wakes the task as well. This message does not depend on the stream.
    afterAdmission: async (task) => {
      if (task.state === 'queued') await lifecycle.wake(task);
    },
    waitFor,
    onProgress,
    // The SDK's connections end with the process.
    close: async () => undefined,
  });
}
