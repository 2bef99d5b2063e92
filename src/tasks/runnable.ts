import { healthKey, openKey, readTask, taskKey } from './items.ts';
import type { LedgerContext } from './ledger-context.ts';
import { readHealth, readOpen } from './table-items.ts';
import type { Health, Task, TaskKind } from './task.ts';

/** Tolerance for clocks of two machines that differ: an attempt may start this much early. */
const CLOCK_TOLERANCE_MS = 1_000;

/** When the task may run by its own waiting time and its kind's cooldown. Undefined means now. */
export function coolingUntil(task: Task, health: Health, now: number): number | undefined {
  if (task.force) return undefined;
  const until = Math.max(task.notBefore ?? 0, health.cooldownUntil ?? 0);
  return until > now + CLOCK_TOLERANCE_MS ? until : undefined;
}

/** The task of each kind that could be claimed now if nobody held the lease: at most one a kind, in two reads. */
export async function runnableTasks(
  context: LedgerContext,
  target: string,
  kinds: readonly TaskKind[],
): Promise<readonly Task[]> {
  const now = context.clock.now();
  const items = await context.ledger.getMany(kinds.flatMap((kind) => [openKey(target, kind), healthKey(target, kind)]));
  const candidates = kinds.flatMap((kind, index) => {
    const open = readOpen(items[index * 2]);
    const id = open.current ?? open.next;
    return id === undefined ? [] : [{ id, health: readHealth(items[index * 2 + 1], target, kind) }];
  });
  if (candidates.length === 0) return [];
  const tasks = await context.ledger.getMany(candidates.map(({ id }) => taskKey(id)));
  return candidates.flatMap(({ health }, index) => {
    const item = tasks[index];
    const task = item && readTask(item).task;
    return task?.state === 'queued' && coolingUntil(task, health, now) === undefined ? [task] : [];
  });
}
