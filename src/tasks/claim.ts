import type { Claim, ClaimOutcome } from './api.ts';
import { equals, unchanged } from './conditions.ts';
import { healthKey, leaseKey, openKey, QUEUED_ONLY, type TaskRecord, taskKey } from './items.ts';
import { endLostAttempt, renew } from './lease.ts';
import { findTask, type LedgerContext, transact, untilWritten } from './ledger-context.ts';
import type { Pause } from './pause.ts';
import { holdPaused, pauseIn, pauseKeysOf } from './pause-items.ts';
import type { Write } from './ports.ts';
import { coolingUntil, runnableTasks } from './runnable.ts';
import {
  changeOpen,
  isExpired,
  LEASE_MS,
  type Lease,
  type OpenTasks,
  readHealth,
  readLease,
  readOpen,
  takeLease,
} from './table-items.ts';
import { type Health, hasEnded, TASK_KINDS } from './task.ts';

/** How long after a release the kind that ran last lets another runnable kind go first. */
export const TURN_MS = 30_000;

export interface ClaimRequest {
  readonly taskId: string;
  readonly claimId: string;
  readonly holder: string;
}

/** Decides without a write where possible. Otherwise takes task and lease in one transaction. */
export function claim(context: LedgerContext, request: ClaimRequest): Promise<ClaimOutcome> {
  return untilWritten<ClaimOutcome>(context, `claim ${request.taskId}`, async () => {
    const record = await findTask(context, request.taskId);
    if (!record) return { outcome: 'unknown' };
    const { task } = record;
    if (hasEnded(task.state)) return { outcome: 'finished', state: task.state };
    if (task.state === 'waiting') return { outcome: 'waiting' };
    if (task.state === 'running' && record.claimId === request.claimId) return adopt(context, record, request.claimId);
    const table = await readTableState(context, record);
    if (table.lease.holder) return meetHolder(context, task.target, table.lease);
    if (task.state === 'running') return 'changed';
    if (table.pause) return leavePaused(context, record, table.pause);
    return (await refuse(context, record, table)) ?? take(context, request, record, table);
  });
}

interface TableState {
  readonly lease: Lease;
  readonly health: Health;
  readonly open: OpenTasks;
  readonly pause: Pause | undefined;
}

async function readTableState(context: LedgerContext, { task }: TaskRecord): Promise<TableState> {
  const { target, kind } = task;
  const [lease, health, open, ...pauses] = await context.ledger.getMany([
    leaseKey(target),
    healthKey(target, kind),
    openKey(target, kind),
    ...pauseKeysOf(target),
  ]);
  return {
    lease: readLease(lease),
    health: readHealth(health, target, kind),
    open: readOpen(open),
    pause: pauseIn(pauses),
  };
}

/** This claim was written and its answer was lost. It is renewed, because the time since then is unknown. */
async function adopt(context: LedgerContext, record: TaskRecord, claimId: string): Promise<ClaimOutcome> {
  const held: Claim = { task: record.task, claimId, token: record.token ?? 0, leaseEndsAt: 0 };
  return { outcome: 'claimed', adopted: true, claim: { ...held, leaseEndsAt: await renew(context, held) } };
}

/** An expired lease is never taken over. Its attempt is ended first; then everything is read again. */
async function meetHolder(context: LedgerContext, target: string, lease: Lease): Promise<ClaimOutcome | 'changed'> {
  const { holder } = lease;
  if (holder && isExpired(holder, context.clock.now(), context.holderGone)) {
    await endLostAttempt(context, target);
    return 'changed';
  }
  return { outcome: 'busy', reason: `${holder?.kind} task ${holder?.taskId} holds the lease` };
}

/** The lease is checked first, so the attempt of a dead holder ends even on a paused table. `force` does not override a pause. */
async function leavePaused(context: LedgerContext, record: TaskRecord, { by, reason }: Pause): Promise<ClaimOutcome> {
  await holdPaused(context, record);
  return { outcome: 'paused', reason: `${by} paused it: ${reason}` };
}

async function refuse(
  context: LedgerContext,
  { task }: TaskRecord,
  table: TableState,
): Promise<ClaimOutcome | undefined> {
  const now = context.clock.now();
  const until = coolingUntil(task, table.health, now);
  if (until !== undefined) return { outcome: 'cooling', until };
  const { current } = table.open;
  if (current !== undefined && current !== task.id) {
    return { outcome: 'busy', reason: `${current} of the same kind began before and has not ended` };
  }
  const { lastKind, releasedAt } = table.lease;
  const sinceRelease = now - (releasedAt ?? Number.NEGATIVE_INFINITY);
  if (lastKind !== task.kind || sinceRelease < 0 || sinceRelease >= TURN_MS) return undefined;
  const others = await runnableTasks(
    context,
    task.target,
    TASK_KINDS.filter((kind) => kind !== task.kind),
  );
  const [other] = others;
  return other ? { outcome: 'busy', reason: `it is the turn of ${other.kind} task ${other.id}` } : undefined;
}

async function take(
  context: LedgerContext,
  { claimId, holder }: ClaimRequest,
  record: TaskRecord,
  table: TableState,
): Promise<ClaimOutcome | 'changed'> {
  const { task } = record;
  const sentAt = context.clock.monotonic();
  const now = context.clock.now();
  const token = table.lease.token + 1;
  const begun = {
    state: 'running' as const,
    force: false,
    attempts: task.attempts + 1,
    startedAt: task.startedAt ?? now,
    attemptStartedAt: now,
  };
  const writes: readonly Write[] = [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { ...begun, claimId, token },
      remove: QUEUED_ONLY,
      when: [equals('state', 'queued'), equals('attempts', task.attempts), equals('force', task.force)],
    },
    takeLease(task.target, table.lease, {
      claimId,
      taskId: task.id,
      kind: task.kind,
      process: holder,
      expiresAt: now + LEASE_MS,
    }),
    becomesCurrent(task.id, record, table.open),
    sameCooldown(record, table.health),
  ];
  const result = await transact(context, writes);
  if (!result.written) return 'changed';
  const { notBefore: _past, ...rest } = task;
  return {
    outcome: 'claimed',
    adopted: false,
    claim: { task: { ...rest, ...begun }, claimId, token, leaseEndsAt: sentAt + LEASE_MS },
  };
}

function becomesCurrent(id: string, { task }: TaskRecord, open: OpenTasks): Write {
  if (open.current === id) {
    return {
      kind: 'check',
      key: openKey(task.target, task.kind),
      when: [equals('current', id)],
    };
  }
  const { next, ...rest } = open;
  const after = next === undefined || next === id ? { ...rest, current: id } : { next, current: id };
  return changeOpen(task.target, task.kind, open, after);
}

/** Health and lease were read separately. A cooldown that began in between must not be skipped. */
function sameCooldown({ task }: TaskRecord, { cooldownUntil }: Health): Write {
  const when = [unchanged('cooldownUntil', cooldownUntil)];
  return { kind: 'check', key: healthKey(task.target, task.kind), when };
}
