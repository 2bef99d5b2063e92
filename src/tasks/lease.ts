import { errorRecord } from '../errors.ts';
import type { Claim } from './api.ts';
import { equals, lacks } from './conditions.ts';
import { holderLost, leaseLost } from './errors.ts';
import { healthKey, leaseKey, openKey, readTask, taskKey } from './items.ts';
import { type LedgerContext, transact, untilWritten } from './ledger-context.ts';
import { type EndPlan, planEnd } from './settle-plan.ts';
import {
  heldBy,
  isExpired,
  LEASE_MS,
  type Lease,
  readHealth,
  readLease,
  readOpen,
  releaseLease,
} from './table-items.ts';

/** Renews the lease by one conditional update of LEASE alone; answers the new end on the monotonic clock. */
export async function renew(context: LedgerContext, claim: Claim): Promise<number> {
  const sentAt = context.clock.monotonic();
  const { target } = claim.task;
  const result = await transact(context, [
    {
      kind: 'update',
      key: leaseKey(target),
      set: { expiresAt: context.clock.now() + LEASE_MS },
      when: heldBy(claim.claimId, claim.token),
    },
  ]);
  if (!result.written) throw leaseLost(target, 'it has another holder');
  return sentAt + LEASE_MS;
}

/** The first attempt stores the base version that it begins from. Later attempts measure from there as well. */
export async function baseVersion(context: LedgerContext, claim: Claim, current: number): Promise<number> {
  const { id, target } = claim.task;
  const result = await transact(context, [
    {
      kind: 'update',
      key: taskKey(id),
      set: { firstBaseVersion: current },
      when: [lacks('firstBaseVersion'), equals('claimId', claim.claimId)],
    },
  ]);
  if (result.written) return current;
  const item = await context.ledger.get(taskKey(id));
  const record = item && readTask(item);
  const stored = record?.claimId === claim.claimId ? record.task.firstBaseVersion : undefined;
  if (stored === undefined) throw leaseLost(target, 'the task has another attempt');
  return stored;
}

/**
 * Ends the attempt of a holder that did not come back, if the lease is still as expired as it was seen: its task is
 * rechecked as after a failure HOLDER_LOST, the holder is cleared and the token grows, so that nothing of the old holder
 * can be written any more. False when there was nothing to end.
 */
export function endLostAttempt(context: LedgerContext, target: string): Promise<boolean> {
  return untilWritten<boolean>(context, `end the lost attempt on ${target}`, async () => {
    const lease = readLease(await context.ledger.get(leaseKey(target)));
    const now = context.clock.now();
    if (!lease.holder || !isExpired(lease.holder, now, context.holderGone)) return false;
    const plan = await planLoss(context, target, lease, now);
    const result = await transact(context, [...(plan?.writes ?? []), clearHolder(target, lease, now)]);
    if (!result.written) return 'changed';
    if (plan?.ended) context.onEnded(plan.ended);
    return true;
  });
}

function clearHolder(target: string, lease: Lease, now: number) {
  const { claimId, expiresAt } = lease.holder ?? { claimId: '', expiresAt: 0 };
  return releaseLease(target, { token: lease.token + 1, releasedAt: now }, [
    ...heldBy(claimId, lease.token),
    equals('expiresAt', expiresAt),
  ]);
}

async function planLoss(
  context: LedgerContext,
  target: string,
  lease: Lease,
  now: number,
): Promise<EndPlan | undefined> {
  if (!lease.holder) return undefined;
  const { taskId, claimId, kind } = lease.holder;
  const [taskItem, healthItem, openItem] = await context.ledger.getMany([
    taskKey(taskId),
    healthKey(target, kind),
    openKey(target, kind),
  ]);
  const record = taskItem && readTask(taskItem);
  if (record?.claimId !== claimId || record.task.state !== 'running') return undefined;
  return planEnd({
    record,
    claimId,
    health: readHealth(healthItem, target, kind),
    open: readOpen(openItem),
    end: { end: 'lost', error: errorRecord(holderLost(target)) },
    now,
    settings: context.settings,
  });
}
