import type { ErrorRecord } from '../errors.ts';
import type { Attributes, AttributeValue, Item, ItemKey } from './ports.ts';
import { SHARDS, TTL_ATTRIBUTE } from './ports.ts';
import type { Task, TaskKind, TaskState, WorkResult } from './task.ts';

/** A task with the fields that only the lifecycle needs. */
export interface TaskRecord {
  readonly task: Task;
  /** Of the running attempt. */
  readonly claimId?: string;
  /** Claim id of the attempt that was settled last. It identifies a settle whose answer was lost. */
  readonly settledBy?: string;
  readonly token?: number;
  readonly wakeAt?: number;
  readonly wakeStepMs: number;
  /** Contentions in a row. */
  readonly contentions: number;
  /** Set with the first edge from this task; from then on its rank is fixed. */
  readonly hasDependents: boolean;
  /** True when dependents were notified and the item has its time to live. */
  readonly notified: boolean;
}

export const FIRST_WAKE_UP_MS = 60_000;
export const RECHECK_AFTER_MS = 15 * 60_000;

/** Sort keys that the stream's filters look for. */
export const TASK_SK = 'TASK';
export const LEASE_SK = 'LEASE';
/** Present on held leases only. */
export const HOLDER_ATTRIBUTE = 'holderClaimId';

export const taskKey = (id: string): ItemKey => ({ pk: `TASK#${id}`, sk: TASK_SK });
export const aliasKey = (id: string): ItemKey => ({ pk: `TASK#${id}`, sk: 'ALIAS' });
export const edgeKey = (dependency: string, dependent: string): ItemKey => ({
  pk: `TASK#${dependency}`,
  sk: `${EDGE_PREFIX}${dependent}`,
});
export const openKey = (target: string, kind: TaskKind): ItemKey => ({ pk: tablePk(target), sk: `OPEN#${kind}` });
export const leaseKey = (target: string): ItemKey => ({ pk: tablePk(target), sk: LEASE_SK });
export const healthKey = (target: string, kind: TaskKind): ItemKey => ({ pk: tablePk(target), sk: `HEALTH#${kind}` });
export const factsKey = (target: string): ItemKey => ({ pk: tablePk(target), sk: 'FACTS' });
/** `at` is the start of the attempt, so a repeated settle writes the same key. */
export const compactionKey = (target: string, at: number, taskId: string): ItemKey => ({
  pk: tablePk(target),
  sk: `${COMPACTION_PREFIX}${sortableTime(at)}#${taskId}`,
});

export const EDGE_PREFIX = 'EDGE#';
export const COMPACTION_PREFIX = 'COMPACTION#';
const TABLE_PREFIX = 'TABLE#';

export function tablePk(target: string): string {
  return `${TABLE_PREFIX}${target}`;
}

export function targetOfKey(key: ItemKey): string {
  return key.pk.slice(TABLE_PREFIX.length);
}

/** Epoch milliseconds as text that sorts as the number does. */
export function sortableTime(at: number): string {
  return String(Math.max(0, Math.floor(at))).padStart(15, '0');
}

/** 0 to SHARDS - 1, the same for the same name everywhere (FNV-1a). */
export function shardOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193) >>> 0;
  }
  return String(hash % SHARDS);
}

export const shards: readonly string[] = Array.from({ length: SHARDS }, (_, index) => String(index));

/** The attributes that only a queued task has: its entry in the queued index. */
export function queuedAttributes(task: { id: string; kind: TaskKind }, wakeAt: number): Attributes {
  return { queuedShard: `${task.kind}#${shardOf(task.id)}`, wakeAt, wakeStepMs: FIRST_WAKE_UP_MS };
}
export const QUEUED_ONLY = ['queuedShard', 'wakeAt', 'wakeStepMs', 'notBefore'] as const;

export function waitingAttributes(id: string, now: number): Attributes {
  return { waitingShard: shardOf(id), recheckAt: now + RECHECK_AFTER_MS };
}
export const WAITING_ONLY = ['waitingShard', 'recheckAt'] as const;

/** The item of a task that was just admitted. */
export function newTaskItem(task: Task, now: number): Item {
  const attributes: Record<string, AttributeValue> = {
    id: task.id,
    kind: task.kind,
    target: task.target,
    state: task.state,
    reasons: task.reasons,
    reasonCount: task.reasonCount,
    dependsOn: task.dependsOn,
    rank: task.rank,
    force: task.force,
    attempts: 0,
    failures: 0,
    contentions: 0,
    createdAt: task.createdAt,
    recentShard: shardOf(task.id),
    recentSort: `${sortableTime(task.createdAt)}#${task.id}`,
    ...(task.state === 'waiting' ? waitingAttributes(task.id, now) : queuedAttributes(task, now + FIRST_WAKE_UP_MS)),
  };
  if (task.pendingDependencies.length > 0) attributes.pendingDependencies = new Set(task.pendingDependencies);
  return { ...taskKey(task.id), attributes };
}

export function readTask(item: Item): TaskRecord {
  const get = reader(item.attributes);
  const result = get.json<WorkResult>('result');
  const task = {
    id: get.text('id'),
    kind: get.text('kind') as TaskKind,
    target: get.text('target'),
    state: get.text('state') as TaskState,
    reasons: get.list('reasons'),
    reasonCount: get.number('reasonCount') ?? 0,
    dependsOn: get.list('dependsOn'),
    pendingDependencies: get.list('pendingDependencies'),
    rank: get.number('rank') ?? 0,
    force: item.attributes.force === true,
    attempts: get.number('attempts') ?? 0,
    failures: get.number('failures') ?? 0,
    createdAt: get.number('createdAt') ?? 0,
    ...defined({
      notBefore: get.number('notBefore'),
      firstBaseVersion: get.number('firstBaseVersion'),
      result,
      error: get.json<ErrorRecord>('error'),
      startedAt: get.number('startedAt'),
      attemptStartedAt: get.number('attemptStartedAt'),
      endedAt: get.number('endedAt'),
      partial: result?.partial,
    }),
  };
  return {
    task,
    wakeStepMs: get.number('wakeStepMs') ?? FIRST_WAKE_UP_MS,
    contentions: get.number('contentions') ?? 0,
    hasDependents: item.attributes.hasDependents === true,
    notified: item.attributes[TTL_ATTRIBUTE] !== undefined,
    ...defined({
      claimId: get.optionalText('claimId'),
      settledBy: get.optionalText('settledBy'),
      token: get.number('token'),
      wakeAt: get.number('wakeAt'),
    }),
  };
}

/** Typed reading of attributes; an attribute of another type reads as absent. */
export function reader(attributes: Attributes) {
  const optionalText = (name: string): string | undefined => {
    const value = attributes[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    optionalText,
    text: (name: string): string => optionalText(name) ?? '',
    number: (name: string): number | undefined => {
      const value = attributes[name];
      return typeof value === 'number' ? value : undefined;
    },
    list: (name: string): readonly string[] => {
      const value = attributes[name];
      if (value instanceof Set) return [...value];
      return Array.isArray(value) ? value : [];
    },
    json: <T>(name: string): T | undefined => {
      const text = optionalText(name);
      return text === undefined ? undefined : (JSON.parse(text) as T);
    },
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The same object without the properties that are undefined. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Defined<T>;
}

/** An error as the ledger keeps it. Long messages are cut, because an item has a size limit. */
export function storedError(error: ErrorRecord): string {
  const message = error.message.length > 2_000 ? `${error.message.slice(0, 2_000)} …` : error.message;
  return JSON.stringify({ ...error, message });
}

/** Epoch seconds after which an item written now may be removed. */
export function ttlSeconds(now: number, keepMs: number): number {
  return Math.ceil((now + keepMs) / 1000);
}
