import { createHash } from 'node:crypto';
import { admit } from './admit.ts';
import { TURN_MS } from './claim.ts';
import { tellDependents } from './dependents.ts';
import {
  COMPACTION_PREFIX,
  HOLDER_ATTRIBUTE,
  LEASE_SK,
  reader,
  readTask,
  TASK_SK,
  type TaskRecord,
  targetOfKey,
} from './items.ts';
import { type LedgerContext, sendWakeUp } from './ledger-context.ts';
import type { ChangeRecord, Item } from './ports.ts';
import { runnableTasks } from './runnable.ts';
import { type Lease, readLease } from './table-items.ts';
import { hasEnded, MAX_ID_LENGTH, TASK_KINDS, type Task } from './task.ts';

/**
 * Acts on one change. The record only names the item. The item is read again and every write is conditional, so
 * a record that arrives late, twice or alone does no harm. Removal by time to live is not an event.
 */
export async function onRecord(context: LedgerContext, record: ChangeRecord): Promise<void> {
  const { key } = record;
  if (record.expired || record.change === 'remove') return;
  if (key.sk === TASK_SK) return onTask(context, record);
  if (key.sk === LEASE_SK) return onLease(context, record);
  if (key.sk.startsWith(COMPACTION_PREFIX)) return onCompaction(context, record);
}

async function onTask(context: LedgerContext, record: ChangeRecord): Promise<void> {
  if (!mayHaveBecome(record)) return;
  const item = await context.ledger.get(record.key);
  if (!item) return;
  const found = readTask(item);
  const { task } = found;
  if (task.state === 'queued') await sendWakeUp(context, task, task.force ? 0 : restOf(context, task.notBefore));
  else if (hasEnded(task.state)) await notifyDependents(context, found);
}

/** False when the images show no change of state and no force. Most records are like that. */
function mayHaveBecome({ before, after }: ChangeRecord): boolean {
  if (!before || !after) return true;
  const forced = after.attributes.force === true && before.attributes.force !== true;
  return forced || before.attributes.state !== after.attributes.state;
}

/** The index run is requested here as well: the record of the metrics may be lost, but the ended task is found again. */
export function notifyDependents(context: LedgerContext, record: TaskRecord): Promise<void> {
  const { task } = record;
  const compaction = task.kind === 'Compact' && task.state === 'done' ? task.result?.compaction : undefined;
  const added = compaction?.indexable === false ? 0 : (compaction?.fragmentsAdded ?? 0);
  return tellDependents(context, record, () => indexAfter(context, task, added));
}

async function onCompaction(context: LedgerContext, record: ChangeRecord): Promise<void> {
  const item = await context.ledger.get(record.key);
  if (!item) return;
  // A table without a key needs no IndexId.
  if (item.attributes.indexable === false) return;
  const get = reader(item.attributes);
  const task = { id: get.text('taskId'), target: get.text('target') };
  await indexAfter(context, task, get.number('fragmentsAdded') ?? 0);
}

/** One index run for each compaction that added fragments. Its id is derived, so a second request changes nothing. */
async function indexAfter(
  context: LedgerContext,
  compaction: Pick<Task, 'id' | 'target'>,
  fragmentsAdded: number,
): Promise<void> {
  if (!context.settings.indexAfterCompaction || fragmentsAdded <= 0) return;
  await admit(context, {
    taskId: indexAfterId(compaction.id),
    kind: 'IndexId',
    target: compaction.target,
    dependsOn: [compaction.id],
    reason: `compaction ${compaction.id} added fragments`,
  });
}

/** A wake-up carries the id, and a message accepts at most MAX_ID_LENGTH characters. */
function indexAfterId(compactionId: string): string {
  const id = `index-after-${compactionId}`;
  return id.length <= MAX_ID_LENGTH ? id : `index-after-${createHash('sha256').update(compactionId).digest('hex')}`;
}

async function onLease(context: LedgerContext, { key, before, after }: ChangeRecord): Promise<void> {
  if (after && isHeld(after)) return;
  if (before && after && !isHeld(before)) return;
  const lease = readLease(await context.ledger.get(key));
  if (lease.holder) return;
  const tasks = await runnableTasks(context, targetOfKey(key), TASK_KINDS);
  for (const task of tasks) await sendWakeUp(context, task, turnOf(context, task, lease, tasks.length));
}

/** While another kind is runnable, the kind that ran last would be turned away. Its wake-up is sent for its turn. */
function turnOf(context: LedgerContext, task: Task, lease: Lease, runnable: number): number {
  if (runnable < 2 || lease.lastKind !== task.kind) return 0;
  return restOf(context, (lease.releasedAt ?? 0) + TURN_MS);
}

function isHeld(item: Item): boolean {
  return item.attributes[HOLDER_ATTRIBUTE] !== undefined;
}

function restOf(context: LedgerContext, until: number | undefined): number {
  return until === undefined ? 0 : Math.max(0, until - context.clock.now());
}
