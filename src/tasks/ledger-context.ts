import type { LifecycleOptions } from './api.ts';
import { ledgerBusy } from './errors.ts';
import { aliasKey, reader, readTask, type TaskRecord, taskKey } from './items.ts';
import type { TransactResult, Write } from './ports.ts';
import type { Task } from './task.ts';

/** What every rule works with. */
export type LedgerContext = Required<LifecycleOptions> & {
  /** True when `holderGone` was given. */
  readonly canSeeProcesses: boolean;
};

const TRIES = 12;

/** Writes with a new token. A retry reads again and writes something else, so it must not share the token. */
export function transact(context: LedgerContext, writes: readonly Write[]): Promise<TransactResult> {
  return context.ledger.transact(writes, { clientToken: context.newId() });
}

/**
 * Repeats read, decide and write until the write is accepted. `attempt` returns 'changed' when another writer changed what it
 * had read. Throws LEDGER_BUSY (contention) after too many tries.
 */
export async function untilWritten<T>(
  context: LedgerContext,
  what: string,
  attempt: () => Promise<T | 'changed'>,
): Promise<Exclude<T, 'changed'>> {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const answer = await attempt();
    if (answer !== 'changed') return answer as Exclude<T, 'changed'>;
    if (tries > 2) await pause(context, context.random() * 20 * tries);
  }
  throw ledgerBusy(what);
}

/** Waits on the injected clock. */
export function pause(context: Pick<LedgerContext, 'clock'>, delayMs: number): Promise<void> {
  return new Promise((resolve) => context.clock.after(delayMs, resolve));
}

/** The task of this id, or the one that the request of this id joined. */
export async function findTask(context: LedgerContext, id: string): Promise<TaskRecord | undefined> {
  return (await findTasks(context, [id]))[0];
}

/** The same for at most 50 ids, in two reads at most. */
export async function findTasks(
  context: LedgerContext,
  ids: readonly string[],
): Promise<readonly (TaskRecord | undefined)[]> {
  if (ids.length === 0) return [];
  const items = await context.ledger.getMany(ids.flatMap((id) => [taskKey(id), aliasKey(id)]));
  const joinedIds = new Set<string>();
  const joinedOf = ids.map((_, index) => {
    const alias = items[index * 2] === undefined ? items[index * 2 + 1] : undefined;
    const joined = alias && reader(alias.attributes).text('taskId');
    if (joined) joinedIds.add(joined);
    return joined;
  });
  const joined = await readTasks(context, [...joinedIds]);
  return ids.map((_, index) => {
    const item = items[index * 2];
    return item ? readTask(item) : joined.get(joinedOf[index] ?? '');
  });
}

/** Tasks by their own ids, at most 100. */
export async function readTasks(
  context: LedgerContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TaskRecord>> {
  const found = new Map<string, TaskRecord>();
  if (ids.length === 0) return found;
  for (const item of await context.ledger.getMany(ids.map(taskKey))) {
    if (!item) continue;
    const record = readTask(item);
    found.set(record.task.id, record);
  }
  return found;
}

/** The body of a wake-up. It only names the task. */
export function wakeUpBody(task: Pick<Task, 'id' | 'kind' | 'target'>): string {
  return JSON.stringify({ kind: task.kind, target: task.target, taskId: task.id });
}

export async function sendWakeUp(context: LedgerContext, task: Task, delayMs: number): Promise<void> {
  const delay = Math.min(900_000, Math.max(0, delayMs));
  await context.queue.send({ kind: task.kind, body: wakeUpBody(task), ...(delay > 0 ? { delayMs: delay } : {}) });
}
