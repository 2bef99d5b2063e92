import type { ErrorRecord } from '../errors.ts';
import type { AttemptEnd, LifecycleSettings } from './api.ts';
import { equals } from './conditions.ts';
import { LONGEST_LIFE_MS, MAX_FAILURES, waitAfterContention, waitAfterFailure } from './cooldown.ts';
import {
  compactionKey,
  FIRST_WAKE_UP_MS,
  QUEUED_ONLY,
  queuedAttributes,
  shardOf,
  storedError,
  type TaskRecord,
  taskKey,
  ttlSeconds,
} from './items.ts';
import type { Attributes, AttributeValue, Write } from './ports.ts';
import { changeOpen, failedAgain, type OpenTasks, succeeded } from './table-items.ts';
import type { Health, Task, TaskState, WorkResult } from './task.ts';

/** `lost`: the holder did not return. Its claim must never look like a settled one. */
export type EndOfAttempt = AttemptEnd | { readonly end: 'lost'; readonly error: ErrorRecord };

export interface EndInput {
  readonly record: TaskRecord;
  readonly claimId: string;
  readonly health: Health;
  /** OPEN of the task's kind as read. */
  readonly open: OpenTasks;
  /** OPEN after a follow-up of the same kind was added; the task itself is taken out here. */
  readonly openAfter?: OpenTasks;
  readonly end: EndOfAttempt;
  readonly now: number;
  readonly settings: LifecycleSettings;
}

export interface EndPlan {
  readonly state: TaskState;
  readonly notBefore?: number;
  /** The task after the settle, if the settle ended it. */
  readonly ended?: Task;
  /** TASK, OPEN, HEALTH and the metrics. The caller writes the lease. */
  readonly writes: readonly Write[];
}

/** Decides how an attempt ends (done, retry later, or failed) and what that means for the health of its kind. */
export function planEnd(input: EndInput): EndPlan {
  const { end } = input;
  if (end.end === 'done') return planDone(input, end.result);
  if (end.end === 'released') return again(input, end.error, undefined, {}, []);
  if (end.error.disposition === 'contention') return planContention(input, end.error);
  return planFailure(input, end.error);
}

function planDone(input: EndInput, result: WorkResult): EndPlan {
  const { record, now } = input;
  const { task } = record;
  const { versionBefore, versionAfter, rewroteNothing, problems } = result;
  const left = problems?.length ? { problems } : {};
  const set = { state: 'done', result: JSON.stringify(result), ...endedAttributes(task.id, now) };
  const writes = [
    taskWrite(input, set, ['error']),
    openWrite(input),
    succeeded(task.target, task.kind, {
      at: now,
      taskId: task.id,
      versionBefore,
      versionAfter,
      rewroteNothing,
      ...left,
    }),
  ];
  if (task.kind === 'Compact') writes.push(metricsWrite(input, result));
  const { error: _before, ...rest } = task;
  return { state: 'done', ended: { ...rest, state: 'done', result, endedAt: now, ...partialOf(result) }, writes };
}

function planContention(input: EndInput, error: ErrorRecord): EndPlan {
  if (isTooOld(input)) return failed(input, error, {}, []);
  const contentions = input.record.contentions + 1;
  return again(input, error, input.now + waitAfterContention(contentions), { contentions }, []);
}

function planFailure(input: EndInput, error: ErrorRecord): EndPlan {
  const { record, health, now, settings } = input;
  const { task } = record;
  // A failed dependency says nothing about the health of this kind.
  if (error.code === 'DEPENDENCY_FAILED') return failed(input, error, {}, []);
  const { waitMs, cooldown } = waitAfterFailure(health.streak + 1, settings.taskCooldownAfterFailures);
  const until = now + waitMs;
  const counted = { failures: task.failures + 1, contentions: 0 };
  const healthWrite = failedAgain(health, cooldown ? until : undefined, { at: now, taskId: task.id, error });
  const over = error.disposition === 'permanent' || counted.failures >= MAX_FAILURES || isTooOld(input);
  if (over) return failed(input, error, counted, [healthWrite]);
  return again(input, error, until, counted, [healthWrite]);
}

function isTooOld({ record, now }: EndInput): boolean {
  return now - (record.task.startedAt ?? now) >= LONGEST_LIFE_MS;
}

function again(
  input: EndInput,
  error: ErrorRecord,
  notBefore: number | undefined,
  counts: Attributes,
  more: readonly Write[],
): EndPlan {
  const { record, now } = input;
  const wakeAt = Math.max(now + FIRST_WAKE_UP_MS, notBefore ?? 0);
  const set: Record<string, AttributeValue> = {
    state: 'queued',
    error: storedError(error),
    ...counts,
    ...queuedAttributes(record.task, wakeAt),
  };
  if (notBefore !== undefined) set.notBefore = notBefore;
  const writes = [taskWrite(input, set, []), ...more];
  return { state: 'queued', writes, ...(notBefore === undefined ? {} : { notBefore }) };
}

function failed(input: EndInput, error: ErrorRecord, counts: Attributes, more: readonly Write[]): EndPlan {
  const { record, now } = input;
  const set = { state: 'failed', error: storedError(error), ...counts, ...endedAttributes(record.task.id, now) };
  const ended: Task = { ...record.task, state: 'failed', error, endedAt: now };
  return { state: 'failed', ended, writes: [taskWrite(input, set, []), openWrite(input), ...more] };
}

function partialOf({ partial }: WorkResult): Pick<Task, 'partial'> {
  return partial === undefined ? {} : { partial };
}

/** The attributes of an ended task until its dependents are notified. */
export function endedAttributes(id: string, now: number): Attributes {
  return { endedAt: now, unnotifiedShard: shardOf(id) };
}

function taskWrite(input: EndInput, set: Attributes, remove: readonly string[]): Write {
  const { record, claimId, end } = input;
  const lost = end.end === 'lost';
  const gone = set.state === 'queued' ? [] : QUEUED_ONLY;
  return {
    kind: 'update',
    key: taskKey(record.task.id),
    set: lost ? set : { ...set, settledBy: claimId },
    remove: ['claimId', 'token', ...remove, ...gone, ...(lost ? ['settledBy'] : [])],
    when: [equals('state', 'running'), equals('claimId', claimId)],
  };
}

function openWrite({ record, open, openAfter }: EndInput): Write {
  const { current: _ended, ...rest } = openAfter ?? open;
  return changeOpen(record.task.target, record.task.kind, open, rest);
}

function metricsWrite({ record, now, settings }: EndInput, result: WorkResult): Write {
  const { task } = record;
  return {
    kind: 'put',
    item: {
      ...compactionKey(task.target, task.attemptStartedAt ?? task.createdAt, task.id),
      attributes: {
        taskId: task.id,
        target: task.target,
        metrics: JSON.stringify(result.compaction ?? null),
        fragmentsAdded: result.compaction?.fragmentsAdded ?? 0,
        indexable: result.compaction?.indexable !== false,
        removeAfter: ttlSeconds(now, settings.taskHistoryMs),
      },
    },
    when: [],
  };
}
