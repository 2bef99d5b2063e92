import { type ErrorRecord, errorRecord } from '../errors.ts';
import type { RecoverReport } from './api.ts';
import { nextNudgeStep } from './cooldown.ts';
import { release } from './dependents.ts';
import { dependencyUnknown } from './errors.ts';
import {
  FIRST_NUDGE_MS,
  healthKey,
  JUDGE_AFTER_MS,
  queuedAttributes,
  reader,
  readTask,
  shards,
  targetOfKey,
  taskKey,
  WAITING_ONLY,
} from './items.ts';
import { endLostAttempt } from './lease.ts';
import { type Parts, readTasks, sendNudge, transact } from './ledger-context.ts';
import { holdPaused, pauseIn, pauseKeysOf } from './pause-items.ts';
import { INDEXES, type IndexName, type Item } from './ports.ts';
import { coolingUntil } from './runnable.ts';
import { endTold } from './stream.ts';
import { EXPIRY_GRACE_MS, readHealth } from './table-items.ts';
import { hasEnded, laneCap, TASK_KINDS, type Task, type TaskKind } from './task.ts';

/** What one run looks at, per index and shard; the rest is due again a minute later. */
const AT_MOST = 100;
/** An ended task is told by the stream; only one that it forgot is told here. */
const TOLD_WITHIN_MS = 60_000;

type Counter = { count: number };

/** The minute's repair: whatever message, record or process was lost, its task is moved on from here. */
export async function recover(parts: Parts): Promise<RecoverReport> {
  const errors: ErrorRecord[] = [];
  const ended = { count: 0 };
  const nudged = { count: 0 };
  const judged = { count: 0 };
  const told = { count: 0 };
  const guard = async (counter: Counter, work: () => Promise<boolean>): Promise<boolean> => {
    try {
      const done = await work();
      if (done) counter.count += 1;
      return done;
    } catch (error) {
      // One item that cannot be handled must not keep the others from being so; it is reported and stays due.
      errors.push(errorRecord(error));
      return false;
    }
  };
  const now = parts.clock.now();
  for (const lease of await due(parts, 'leases', shards, leaseLimit(parts, now), errors)) {
    await guard(ended, () => endLostAttempt(parts, targetOfKey(lease)));
  }
  for (const item of await due(parts, 'untold', shards, now - TOLD_WITHIN_MS, errors)) {
    await guard(told, () => tellAgain(parts, item));
  }
  for (const item of await due(parts, 'waiting', shards, now, errors)) {
    await guard(judged, () => judgeAgain(parts, item));
  }
  for (const kind of TASK_KINDS) {
    let left = (await room(parts, kind, errors)) ?? 0;
    const partitions = shards.map((shard) => `${kind}#${shard}`);
    for (const item of left > 0 ? await due(parts, 'queued', partitions, now, errors) : []) {
      if (left <= 0) break;
      if (await guard(nudged, () => nudgeAgain(parts, item))) left -= 1;
    }
  }
  return {
    endedAttempts: ended.count,
    nudged: nudged.count,
    judged: judged.count,
    told: told.count,
    errors,
  };
}

/** Where a gone process can be told from a live one, every held lease is looked at, else only the expired ones. */
function leaseLimit(parts: Parts, now: number): number {
  return parts.canSeeProcesses ? Number.MAX_SAFE_INTEGER : now - EXPIRY_GRACE_MS;
}

/** The entries of an index up to `to`, over all shards, oldest first. */
async function due(
  parts: Parts,
  index: IndexName,
  partitions: readonly string[],
  to: number,
  errors: ErrorRecord[],
): Promise<readonly Item[]> {
  const read = async (partition: string): Promise<readonly Item[]> => {
    try {
      return await parts.ledger.queryIndex({ index, partition, to, order: 'ascending', limit: AT_MOST });
    } catch (error) {
      errors.push(errorRecord(error));
      return [];
    }
  };
  const pages = await Promise.all(partitions.map(read));
  const at = (item: Item): number => reader(item.attributes).number(INDEXES[index].sort) ?? 0;
  return pages.flat().sort((left, right) => at(left) - at(right));
}

/** How many messages may still be added to a lane: 2 x its cap + 10 visible ones are enough for any number of tasks. */
async function room(parts: Parts, kind: TaskKind, errors: ErrorRecord[]): Promise<number | undefined> {
  const cap = laneCap(kind, parts.settings);
  try {
    return 2 * cap + 10 - (await parts.queue.visible(kind));
  } catch (error) {
    errors.push(errorRecord(error));
    return undefined;
  }
}

async function nudgeAgain(parts: Parts, hint: Item): Promise<boolean> {
  const item = await parts.ledger.get({ pk: hint.pk, sk: hint.sk });
  if (!item) return false;
  const record = readTask(item);
  const { task, nudgeAt, nudgeStepMs } = record;
  const now = parts.clock.now();
  if (task.state !== 'queued' || nudgeAt === undefined || nudgeAt > now) return false;
  const [known, ...pauses] = await parts.ledger.getMany([
    healthKey(task.target, task.kind),
    ...pauseKeysOf(task.target),
  ]);
  if (pauseIn(pauses)) {
    await holdPaused(parts, record);
    return false;
  }
  const health = readHealth(known, task.target, task.kind);
  const cooling = coolingUntil(task, health, now);
  const next =
    cooling === undefined
      ? { nudgeAt: now + nudgeStepMs, nudgeStepMs: nextNudgeStep(nudgeStepMs) }
      : { nudgeAt: cooling };
  // Written before it is sent: two recovers at once send one message, and a lost one costs a step.
  const result = await transact(parts, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: next,
      when: [
        { test: 'equals', attribute: 'state', value: 'queued' },
        { test: 'equals', attribute: 'nudgeAt', value: nudgeAt },
      ],
    },
  ]);
  if (!result.written || cooling !== undefined) return false;
  await sendNudge(parts, task, 0);
  return true;
}

async function tellAgain(parts: Parts, hint: Item): Promise<boolean> {
  const item = await parts.ledger.get({ pk: hint.pk, sk: hint.sk });
  const record = item && readTask(item);
  if (!record || record.told || !hasEnded(record.task.state)) return false;
  await endTold(parts, record);
  return true;
}

/** A waiting task is judged from its dependencies' own records, whatever became of edges and records of the stream. */
async function judgeAgain(parts: Parts, hint: Item): Promise<boolean> {
  const item = await parts.ledger.get({ pk: hint.pk, sk: hint.sk });
  const task = item && readTask(item).task;
  if (task?.state !== 'waiting') return false;
  const now = parts.clock.now();
  // First its next time, so that those that go on waiting never hide the others.
  await transact(parts, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { judgeAt: now + JUDGE_AFTER_MS },
      when: [{ test: 'equals', attribute: 'state', value: 'waiting' }],
    },
  ]);
  const records = await readInPages(parts, task.undone);
  for (const id of task.undone) {
    const dependency = records.get(id);
    if (!dependency) await release(parts, task.id, { id, state: 'failed', error: errorRecord(dependencyUnknown(id)) });
    else if (hasEnded(dependency.state)) await release(parts, task.id, dependency);
  }
  if (task.undone.length === 0) await queueUnblocked(parts, task, now);
  return true;
}

async function readInPages(parts: Parts, ids: readonly string[]): Promise<ReadonlyMap<string, Task>> {
  const found = new Map<string, Task>();
  for (let start = 0; start < ids.length; start += AT_MOST) {
    const page = await readTasks(parts, ids.slice(start, start + AT_MOST));
    for (const [id, record] of page) found.set(id, record.task);
  }
  return found;
}

async function queueUnblocked(parts: Parts, task: Task, now: number): Promise<void> {
  await transact(parts, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { state: 'queued', ...queuedAttributes(task, now + FIRST_NUDGE_MS) },
      remove: WAITING_ONLY,
      when: [
        { test: 'equals', attribute: 'state', value: 'waiting' },
        { test: 'lacks', attribute: 'undone' },
      ],
    },
  ]);
}
