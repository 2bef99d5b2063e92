import { ABSENT, anyOf, equals, lacks } from './conditions.ts';
import { dependencyCycle } from './errors.ts';
import {
  aliasKey,
  edgeKey,
  FIRST_WAKE_UP_MS,
  newTaskItem,
  QUEUED_ONLY,
  type TaskRecord,
  taskKey,
  ttlSeconds,
  waitingAttributes,
} from './items.ts';
import type { AttributeValue, Condition, Write } from './ports.ts';
import { aliasRetentionMs } from './retention.ts';
import type { OpenTasks } from './table-items.ts';
import { hasEnded, type Task, type TaskRequest } from './task.ts';

export const MAX_REASONS = 20;

/** The task has not ended. */
export const STILL_OPEN: Condition = anyOf(
  equals('state', 'waiting'),
  equals('state', 'queued'),
  equals('state', 'running'),
);

export interface AdmissionInput {
  readonly request: TaskRequest;
  readonly id: string;
  /** False when only this call knows the id. Such a request leaves no ALIAS. */
  readonly named: boolean;
  /** Resolved and not failed. */
  readonly dependencies: readonly TaskRecord[];
  readonly open: OpenTasks;
  readonly next: TaskRecord | undefined;
  readonly current: TaskRecord | undefined;
  readonly now: number;
  readonly historyMs: number;
}

export interface AdmissionPlan {
  readonly taskId: string;
  readonly task: Task;
  readonly joined: boolean;
  /** All writes except the one of OPEN, which a settle combines with its own. Empty when nothing changes. */
  readonly writes: readonly Write[];
  readonly open: OpenTasks;
}

/** Decides whether a request makes a task or joins one, and with which writes. Throws DEPENDENCY_CYCLE. */
export function planAdmission(input: AdmissionInput): AdmissionPlan {
  const pendingDependencies = input.dependencies.filter((dependency) => !hasEnded(dependency.task.state));
  const { next, current } = input;
  if (next) return planJoin(input, next, pendingDependencies);
  if (current?.task.state === 'queued' && pendingDependencies.length === 0)
    return planJoin(input, current, pendingDependencies);
  return planTask(input, pendingDependencies);
}

function planTask(input: AdmissionInput, pendingDependencies: readonly TaskRecord[]): AdmissionPlan {
  const { request, id, now } = input;
  const ranks = input.dependencies.map((dependency) => dependency.task.rank);
  const task: Task = {
    id,
    kind: request.kind,
    target: request.target,
    state: pendingDependencies.length > 0 ? 'waiting' : 'queued',
    reasons: request.reason ? [request.reason] : [],
    reasonCount: request.reason ? 1 : 0,
    dependsOn: input.dependencies.map((dependency) => dependency.task.id),
    pendingDependencies: pendingDependencies.map((dependency) => dependency.task.id),
    rank: ranks.length === 0 ? 0 : 1 + Math.max(...ranks),
    force: request.force === true,
    attempts: 0,
    failures: 0,
    createdAt: now,
  };
  const writes: Write[] = [{ kind: 'put', item: newTaskItem(task, now), when: [ABSENT] }];
  if (input.named) writes.push({ kind: 'check', key: aliasKey(id), when: [ABSENT] });
  writes.push(...forceCurrent(input, pendingDependencies), ...edges(id, pendingDependencies));
  return { taskId: id, task, joined: false, writes, open: { ...input.open, next: id } };
}

function planJoin(input: AdmissionInput, into: TaskRecord, pendingDependencies: readonly TaskRecord[]): AdmissionPlan {
  const { request, now } = input;
  const { task } = into;
  const added = pendingDependencies.filter((dependency) => !task.pendingDependencies.includes(dependency.task.id));
  const rank = rankAfterJoin(into, added);
  const reason = request.reason !== undefined && !task.reasons.includes(request.reason) ? request.reason : undefined;
  const force = request.force === true && !task.force;
  const set: Record<string, AttributeValue> = {};
  if (reason !== undefined) {
    set.reasonCount = task.reasonCount + 1;
    if (task.reasons.length < MAX_REASONS) set.reasons = [...task.reasons, reason];
  }
  if (force) set.force = true;
  if (force && task.state === 'queued') set.wakeAt = now + FIRST_WAKE_UP_MS;
  const addedIds = added.map((dependency) => dependency.task.id);
  if (added.length > 0) {
    set.dependsOn = [...task.dependsOn, ...addedIds.filter((id) => !task.dependsOn.includes(id))];
    set.rank = rank;
    if (task.state === 'queued') Object.assign(set, { state: 'waiting', ...waitingAttributes(task.id, now) });
  }
  const becomesWaiting = set.state === 'waiting';
  if (becomesWaiting) delete set.wakeAt;
  const when: Condition[] = [
    equals('state', task.state),
    equals('attempts', task.attempts),
    equals('reasonCount', task.reasonCount),
    equals('rank', task.rank),
  ];
  if (rank !== task.rank) when.push(lacks('hasDependents'));
  const forced = into === input.current ? [] : forceCurrent(input, pendingDependencies);
  const changes = Object.keys(set).length > 0 || added.length > 0;
  const writes: Write[] = [];
  if (changes) {
    const remove = becomesWaiting ? QUEUED_ONLY : [];
    writes.push({ kind: 'update', key: taskKey(task.id), set, remove, add: { pendingDependencies: addedIds }, when });
  } else if (input.named) writes.push({ kind: 'check', key: taskKey(task.id), when });
  writes.push(...forced, ...edges(task.id, added));
  if (input.named) writes.push(...alias(input, task));
  const after: Task = {
    ...task,
    ...(becomesWaiting ? { state: 'waiting' as const } : {}),
    reasons: Array.isArray(set.reasons) ? set.reasons : task.reasons,
    pendingDependencies: [...task.pendingDependencies, ...addedIds],
    force: task.force || force,
  };
  return { taskId: task.id, task: after, joined: true, writes, open: input.open };
}

/** A rank may rise until another task depends on this one. It is fixed then, so no walk over dependents is needed. */
function rankAfterJoin(into: TaskRecord, added: readonly TaskRecord[]): number {
  const needed = Math.max(into.task.rank, ...added.map((dependency) => dependency.task.rank + 1));
  const culprit = added.find((dependency) => dependency.task.rank >= into.task.rank);
  const self = added.find((dependency) => dependency.task.id === into.task.id);
  if (self) throw dependencyCycle(into.task.id, self.task.id);
  if (culprit && into.hasDependents) throw dependencyCycle(into.task.id, culprit.task.id);
  return needed;
}

/** A forced request waits behind a queued `current`, so `current` must pass its cooldown as well. */
function forceCurrent(input: AdmissionInput, pendingDependencies: readonly TaskRecord[]): readonly Write[] {
  const current = input.current?.task;
  if (!input.request.force || current?.state !== 'queued' || current.force) return [];
  if (pendingDependencies.some((dependency) => dependency.task.id === current.id)) return [];
  return [
    {
      kind: 'update',
      key: taskKey(current.id),
      set: { force: true, wakeAt: input.now + FIRST_WAKE_UP_MS },
      when: [equals('state', 'queued'), equals('attempts', current.attempts)],
    },
  ];
}

/** The edge for each dependency, and the check that it has not ended: an edge written after the end would wait for ever. */
function edges(dependent: string, pendingDependencies: readonly TaskRecord[]): readonly Write[] {
  return pendingDependencies.flatMap((dependency): readonly Write[] => {
    const id = dependency.task.id;
    const when = [STILL_OPEN, equals('rank', dependency.task.rank)];
    const key = taskKey(id);
    return [
      dependency.hasDependents
        ? { kind: 'check', key, when }
        : { kind: 'update', key, set: { hasDependents: true }, when },
      { kind: 'put', item: { ...edgeKey(id, dependent), attributes: { dependent } }, when: [] },
    ];
  });
}

function alias(input: AdmissionInput, task: Task): readonly Write[] {
  const attributes = {
    taskId: task.id,
    kind: task.kind,
    target: task.target,
    removeAfter: ttlSeconds(input.now, aliasRetentionMs(input.historyMs)),
  };
  return [
    { kind: 'put', item: { ...aliasKey(input.id), attributes }, when: [ABSENT] },
    { kind: 'check', key: taskKey(input.id), when: [ABSENT] },
  ];
}
