import { errorRecord } from '../errors.ts';
import { type AdmissionPlan, planAdmission } from './admission-plan.ts';
import { isUnclaimed, readOpenTasks } from './admit.ts';
import type { AttemptEnd, Claim, Settlement } from './api.ts';
import { leaseLost, metricsMissing } from './errors.ts';
import { healthKey, openKey, readTask, taskKey } from './items.ts';
import { type LedgerContext, transact, untilWritten } from './ledger-context.ts';
import type { Write } from './ports.ts';
import { type EndInput, planEnd } from './settle-plan.ts';
import { changeOpen, heldBy, type OpenTasks, readHealth, readOpen, releaseLease } from './table-items.ts';
import { hasEnded, type TaskKind } from './task.ts';

/**
 * Ends the attempt: task, lease, OPEN, health, metrics and follow-up in one transaction. Throws LEASE_LOST when the
 * attempt belongs to another claim. A second settle of the same claim returns what the first one wrote.
 */
export function settle(context: LedgerContext, claim: Claim, asked: AttemptEnd): Promise<Settlement> {
  const { id, target, kind } = claim.task;
  const end = withMetrics(claim, asked);
  return untilWritten<Settlement>(context, `settle ${id}`, async () => {
    const [taskItem, healthItem, openItem] = await context.ledger.getMany([
      taskKey(id),
      healthKey(target, kind),
      openKey(target, kind),
    ]);
    const record = taskItem && readTask(taskItem);
    if (record?.settledBy === claim.claimId && record.claimId !== claim.claimId) {
      const { state, notBefore } = record.task;
      if (hasEnded(state)) context.onEnded(record.task);
      return { state, adopted: true, ...(notBefore === undefined ? {} : { notBefore }) };
    }
    if (record?.claimId !== claim.claimId) throw leaseLost(target, 'the attempt was ended by somebody else');
    const input: EndInput = {
      record,
      claimId: claim.claimId,
      health: readHealth(healthItem, target, kind),
      open: readOpen(openItem),
      end,
      now: context.clock.now(),
      settings: context.settings,
    };
    const followUp = await planFollowUp(context, input);
    if (followUp === 'changed') return 'changed';
    const plan = planEnd(followUp?.openAfter ? { ...input, openAfter: followUp.openAfter } : input);
    const release = releaseLease(target, { releasedAt: input.now }, heldBy(claim.claimId, claim.token));
    const result = await transact(context, [...plan.writes, ...(followUp?.writes ?? []), release]);
    if (!result.written) return 'changed';
    if (plan.ended) context.onEnded(plan.ended);
    return {
      state: plan.state,
      adopted: false,
      ...(plan.notBefore === undefined ? {} : { notBefore: plan.notBefore }),
      ...(followUp ? { followUpId: followUp.plan.taskId } : {}),
    };
  });
}

/** A compaction without metrics must not become done: metrics exist if and only if it is. */
function withMetrics(claim: Claim, end: AttemptEnd): AttemptEnd {
  if (end.end !== 'done' || claim.task.kind !== 'Compact' || end.result.compaction) return end;
  return { end: 'error', error: errorRecord(metricsMissing(claim.task)) };
}

interface FollowUp {
  readonly plan: AdmissionPlan;
  readonly writes: readonly Write[];
  /** Set when OPEN belongs to the ending task, whose end must write it. */
  readonly openAfter?: OpenTasks;
}

async function planFollowUp(context: LedgerContext, input: EndInput): Promise<FollowUp | undefined | 'changed'> {
  const { end, record, now } = input;
  const wanted = end.end === 'done' ? end.result.followUp : undefined;
  if (!wanted) return undefined;
  const { target } = record.task;
  const same = wanted.kind === record.task.kind;
  const { open, next, current } = await readOpenTasks(context, target, wanted.kind);
  if (open.next !== undefined && !isUnclaimed(next)) return 'changed';
  if (same && (open.next !== input.open.next || open.current !== input.open.current)) return 'changed';
  const plan = planAdmission({
    request: { kind: wanted.kind as TaskKind, target, reason: wanted.reason },
    id: `follow-up-${context.newId()}`,
    named: false,
    dependencies: [],
    open,
    next,
    current: same ? undefined : current,
    now,
    historyMs: context.settings.taskHistoryMs,
  });
  if (same) return { plan, writes: plan.writes, openAfter: plan.open };
  const openWrites = plan.joined ? [] : [changeOpen(target, wanted.kind, open, plan.open)];
  return { plan, writes: [...plan.writes, ...openWrites] };
}
