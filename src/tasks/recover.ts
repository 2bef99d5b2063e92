import { type ErrorRecord, errorRecord } from '../errors.ts';
import type { RecoverReport } from './api.ts';
import { equals, lacks } from './conditions.ts';
import { nextWakeStep } from './cooldown.ts';
import { release } from './dependents.ts';
import { dependencyUnknown } from './errors.ts';
import {
  FIRST_WAKE_UP_MS,
  healthKey,
  queuedAttributes,
  RECHECK_AFTER_MS,
  reader,
  readTask,
  shards,
  targetOfKey,
  taskKey,
  WAITING_ONLY,
} from './items.ts';
import { endLostAttempt } from './lease.ts';
import { type LedgerContext, readTasks, sendWakeUp, transact } from './ledger-context.ts';
import { holdPaused, pauseIn, pauseKeysOf } from './pause-items.ts';
import { INDEXES, type IndexName, type Item } from './ports.ts';
import { coolingUntil } from './runnable.ts';
import { notifyDependents } from './stream.ts';
import { EXPIRY_GRACE_MS, readHealth } from './table-items.ts';
import { concurrencyCap, hasEnded, TASK_KINDS, type Task, type TaskKind } from './task.ts';

/** What one run looks at, per index and shard; the rest is due again a minute later. */
const AT_MOST = 100;
/** The stream notifies the dependents of an ended task. Only tasks that it missed are handled here. */
const NOTIFIED_WITHIN_MS = 60_000;

type Counter = { count: number };

/** The repair of each minute. It moves every task on whose message, record or process was lost. */
export async function recover(context: LedgerContext): Promise<RecoverReport> {
  const errors: ErrorRecord[] = [];
  const ended = { count: 0 };
  const woken = { count: 0 };
  const rechecked = { count: 0 };
  const notified = { count: 0 };
  const guard = async (counter: Counter, work: () => Promise<boolean>): Promise<boolean> => {
    try {
      const done = await work();
      if (done) counter.count += 1;
      return done;
    } catch (error) {
      // One item that cannot be handled must not block the others. It is reported and stays due.
      errors.push(errorRecord(error));
      return false;
    }
  };
  const now = context.clock.now();
  for (const lease of await due(context, 'leases', shards, leaseLimit(context, now), errors)) {
    await guard(ended, () => endLostAttempt(context, targetOfKey(lease)));
  }
  for (const item of await due(context, 'unnotified', shards, now - NOTIFIED_WITHIN_MS, errors)) {
    await guard(notified, () => notifyAgain(context, item));
  }
  for (const item of await due(context, 'waiting', shards, now, errors)) {
    await guard(rechecked, () => recheck(context, item));
  }
  for (const kind of TASK_KINDS) {
    let left = (await room(context, kind, errors)) ?? 0;
    const partitions = shards.map((shard) => `${kind}#${shard}`);
    for (const item of left > 0 ? await due(context, 'queued', partitions, now, errors) : []) {
      if (left <= 0) break;
      if (await guard(woken, () => wakeAgain(context, item))) left -= 1;
    }
  }
  return {
    endedAttempts: ended.count,
    woken: woken.count,
    rechecked: rechecked.count,
    notified: notified.count,
    errors,
  };
}

/** Where a dead process can be detected, every held lease is checked; elsewhere only expired ones. */
function leaseLimit(context: LedgerContext, now: number): number {
  return context.canSeeProcesses ? Number.MAX_SAFE_INTEGER : now - EXPIRY_GRACE_MS;
}

/** The entries of an index up to `to`, over all shards, oldest first. */
async function due(
  context: LedgerContext,
  index: IndexName,
  partitions: readonly string[],
  to: number,
  errors: ErrorRecord[],
): Promise<readonly Item[]> {
  const read = async (partition: string): Promise<readonly Item[]> => {
    try {
      return await context.ledger.queryIndex({ index, partition, to, order: 'ascending', limit: AT_MOST });
    } catch (error) {
      errors.push(errorRecord(error));
      return [];
    }
  };
  const pages = await Promise.all(partitions.map(read));
  const at = (item: Item): number => reader(item.attributes).number(INDEXES[index].sort) ?? 0;
  return pages.flat().sort((left, right) => at(left) - at(right));
}

/** How many messages may still be added to a queue: 2 x its cap + 10 visible ones are enough for any number of tasks. */
async function room(context: LedgerContext, kind: TaskKind, errors: ErrorRecord[]): Promise<number | undefined> {
  const cap = concurrencyCap(kind, context.settings);
  try {
    return 2 * cap + 10 - (await context.queue.visible(kind));
  } catch (error) {
    errors.push(errorRecord(error));
    return undefined;
  }
}

async function wakeAgain(context: LedgerContext, hint: Item): Promise<boolean> {
  const item = await context.ledger.get({ pk: hint.pk, sk: hint.sk });
  if (!item) return false;
  const record = readTask(item);
  const { task, wakeAt, wakeStepMs } = record;
  const now = context.clock.now();
  if (task.state !== 'queued' || wakeAt === undefined || wakeAt > now) return false;
  const [known, ...pauses] = await context.ledger.getMany([
    healthKey(task.target, task.kind),
    ...pauseKeysOf(task.target),
  ]);
  if (pauseIn(pauses)) {
    await holdPaused(context, record);
    return false;
  }
  const health = readHealth(known, task.target, task.kind);
  const cooling = coolingUntil(task, health, now);
  const next =
    cooling === undefined ? { wakeAt: now + wakeStepMs, wakeStepMs: nextWakeStep(wakeStepMs) } : { wakeAt: cooling };
  // Written before it is sent: two recovers at once send one message. A lost message costs one step.
  const result = await transact(context, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: next,
      when: [equals('state', 'queued'), equals('wakeAt', wakeAt)],
    },
  ]);
  if (!result.written || cooling !== undefined) return false;
  await sendWakeUp(context, task, 0);
  return true;
}

async function notifyAgain(context: LedgerContext, hint: Item): Promise<boolean> {
  const item = await context.ledger.get({ pk: hint.pk, sk: hint.sk });
  const record = item && readTask(item);
  if (!record || record.notified || !hasEnded(record.task.state)) return false;
  await notifyDependents(context, record);
  return true;
}

/** A waiting task is rechecked from its dependencies' own records, not from edges or stream records. */
async function recheck(context: LedgerContext, hint: Item): Promise<boolean> {
  const item = await context.ledger.get({ pk: hint.pk, sk: hint.sk });
  const task = item && readTask(item).task;
  if (task?.state !== 'waiting') return false;
  const now = context.clock.now();
  // The next recheck time is written first, so tasks that keep waiting never hide the others.
  await transact(context, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { recheckAt: now + RECHECK_AFTER_MS },
      when: [equals('state', 'waiting')],
    },
  ]);
  const records = await readInPages(context, task.pendingDependencies);
  for (const id of task.pendingDependencies) {
    const dependency = records.get(id);
    if (!dependency)
      await release(context, task.id, { id, state: 'failed', error: errorRecord(dependencyUnknown(id)) });
    else if (hasEnded(dependency.state)) await release(context, task.id, dependency);
  }
  if (task.pendingDependencies.length === 0) await queueUnblocked(context, task, now);
  return true;
}

async function readInPages(context: LedgerContext, ids: readonly string[]): Promise<ReadonlyMap<string, Task>> {
  const found = new Map<string, Task>();
  for (let start = 0; start < ids.length; start += AT_MOST) {
    const page = await readTasks(context, ids.slice(start, start + AT_MOST));
    for (const [id, record] of page) found.set(id, record.task);
  }
  return found;
}

async function queueUnblocked(context: LedgerContext, task: Task, now: number): Promise<void> {
  await transact(context, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { state: 'queued', ...queuedAttributes(task, now + FIRST_WAKE_UP_MS) },
      remove: WAITING_ONLY,
      when: [equals('state', 'waiting'), lacks('pendingDependencies')],
    },
  ]);
}
