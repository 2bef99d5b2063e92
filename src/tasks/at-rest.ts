import type { Lifecycle } from './api.ts';
import { covers } from './pause.ts';
import { hasEnded, type Task } from './task.ts';

type Reader = Pick<Lifecycle, 'getTask' | 'health' | 'openTasks' | 'pauses'>;

/** A wait this short is worth staying for. */
const PATIENCE_MS = 10_000;

/**
 * True when waiting for a task is pointless for now: it has ended, or it may not run for some time, or a task that must run before it
 * may not. A forced task has no such time, until its attempt has failed.
 */
export async function isAtRest(lifecycle: Reader, taskId: string, now: number): Promise<boolean> {
  const task = await lifecycle.getTask(taskId);
  return task === undefined || hasEnded(task.state) || waits(lifecycle, task, now);
}

async function waits(lifecycle: Reader, task: Task, now: number): Promise<boolean> {
  if (task.state === 'running') return false;
  // A pause has no known end, and force does not override it.
  if ((await lifecycle.pauses()).some((pause) => covers(pause, task.target))) return true;
  for (const before of await goingBefore(lifecycle, task)) if (await waits(lifecycle, before, now)) return true;
  if (task.state === 'waiting' || task.force) return false;
  const { cooldownUntil = 0 } = (await lifecycle.health(task.target))[task.kind];
  return Math.max(task.notBefore ?? 0, cooldownUntil) > now + PATIENCE_MS;
}

/** Its dependencies, and the task of its kind that began before it. A dependent of an ended task is about to be notified. */
async function goingBefore(
  lifecycle: Reader,
  { id, kind, target, pendingDependencies }: Task,
): Promise<readonly Task[]> {
  const dependencies = await Promise.all(pendingDependencies.map((dependency) => lifecycle.getTask(dependency)));
  const current = (await lifecycle.openTasks(target)).find((open) => open.kind === kind && open.attempts > 0);
  return [...dependencies, current].flatMap((task) =>
    task === undefined || task.id === id || hasEnded(task.state) ? [] : [task],
  );
}
