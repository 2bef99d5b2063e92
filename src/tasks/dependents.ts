import { errorRecord } from '../errors.ts';
import { contains, equals, lacks, sizeIs } from './conditions.ts';
import { dependencyFailed } from './errors.ts';
import {
  EDGE_PREFIX,
  edgeKey,
  FIRST_WAKE_UP_MS,
  openKey,
  QUEUED_ONLY,
  queuedAttributes,
  reader,
  readTask,
  storedError,
  type TaskRecord,
  taskKey,
  ttlSeconds,
  WAITING_ONLY,
} from './items.ts';
import { type LedgerContext, transact, untilWritten } from './ledger-context.ts';
import type { Write } from './ports.ts';
import { endedAttributes } from './settle-plan.ts';
import { changeOpen, type OpenTasks, readOpen } from './table-items.ts';
import { hasEnded, type Task } from './task.ts';

const EDGES_A_PAGE = 100;

/**
 * Notifies every dependent that the task has ended, does what else must follow, and only then gives the task its time
 * to live: history never expires while a dependent still waits for it. Safe to repeat.
 */
export async function tellDependents(
  context: LedgerContext,
  record: TaskRecord,
  beforeExpiry: () => Promise<void>,
): Promise<void> {
  const { task } = record;
  if (record.notified || !hasEnded(task.state)) return;
  let after: string | undefined;
  do {
    const page = await context.ledger.query({
      pk: taskKey(task.id).pk,
      skPrefix: EDGE_PREFIX,
      limit: EDGES_A_PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const edge of page.items) await release(context, reader(edge.attributes).text('dependent'), task);
    after = page.next;
  } while (after !== undefined);
  await beforeExpiry();
  await transact(context, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { removeAfter: ttlSeconds(context.clock.now(), context.settings.taskHistoryMs) },
      remove: ['unnotifiedShard'],
      when: [equals('state', task.state), lacks('removeAfter')],
    },
  ]);
}

/** Removes one ended dependency from one dependent. Removing the last one makes it queued. */
export function release(
  context: LedgerContext,
  dependentId: string,
  ended: Pick<Task, 'id' | 'state' | 'error'>,
): Promise<void> {
  return untilWritten<undefined>(context, `release ${dependentId}`, async () => {
    const item = await context.ledger.get(taskKey(dependentId));
    const dependent = item && readTask(item).task;
    const edge: Write = { kind: 'delete', key: edgeKey(ended.id, dependentId), when: [] };
    if (dependent?.state !== 'waiting' || !dependent.pendingDependencies.includes(ended.id)) {
      await transact(context, [edge]);
      return undefined;
    }
    if (ended.state === 'done') {
      const result = await transact(context, [unblock(context, dependent, ended.id), edge]);
      return result.written ? undefined : 'changed';
    }
    const { writes, failed } = await failDependent(context, dependent, ended);
    const result = await transact(context, [...writes, edge]);
    if (!result.written) return 'changed';
    context.onEnded(failed);
    return undefined;
  });
}

/** The size of the set decides, not a counter: a record that arrives twice finds its id gone. */
function unblock(context: LedgerContext, dependent: Task, endedId: string): Write {
  const last = dependent.pendingDependencies.length === 1;
  const now = context.clock.now();
  return {
    kind: 'update',
    key: taskKey(dependent.id),
    take: { pendingDependencies: [endedId] },
    set: last ? { state: 'queued', ...queuedAttributes(dependent, now + FIRST_WAKE_UP_MS) } : {},
    remove: last ? WAITING_ONLY : [],
    when: [
      equals('state', 'waiting'),
      contains('pendingDependencies', endedId),
      sizeIs('pendingDependencies', dependent.pendingDependencies.length),
    ],
  };
}

async function failDependent(
  context: LedgerContext,
  dependent: Task,
  ended: Pick<Task, 'id' | 'error'>,
): Promise<{ readonly writes: readonly Write[]; readonly failed: Task }> {
  const { id, target, kind } = dependent;
  const open = readOpen(await context.ledger.get(openKey(target, kind)));
  const error = errorRecord(dependencyFailed(ended.id, ended.error?.message));
  const now = context.clock.now();
  const write: Write = {
    kind: 'update',
    key: taskKey(id),
    set: { state: 'failed', error: storedError(error), ...endedAttributes(id, now) },
    remove: [...WAITING_ONLY, ...QUEUED_ONLY],
    when: [equals('state', 'waiting'), contains('pendingDependencies', ended.id)],
  };
  const writes = [write, changeOpen(target, kind, open, without(open, id))];
  return { writes, failed: { ...dependent, state: 'failed', error, endedAt: now } };
}

function without(open: OpenTasks, id: string): OpenTasks {
  return Object.fromEntries(Object.entries(open).filter(([, one]) => one !== id));
}
