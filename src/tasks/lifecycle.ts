import { admit } from './admit.ts';
import type { Lifecycle, LifecycleOptions } from './api.ts';
import { claim } from './claim.ts';
import { forgetFacts, getFacts, listFacts, putFacts } from './facts.ts';
import { healthKey, leaseKey, openKey } from './items.ts';
import { baseVersion, renew } from './lease.ts';
import { findTask, type LedgerContext, readTasks, sendWakeUp } from './ledger-context.ts';
import { listTasks } from './pages.ts';
import { listPauses, pause, resume } from './pause-items.ts';
import { recover } from './recover.ts';
import { settle } from './settle.ts';
import { onRecord } from './stream.ts';
import { readHealth, readLease, readOpen } from './table-items.ts';
import { type Health, TASK_KINDS, type TaskKind } from './task.ts';

/**
 * Puts the rules together over a ledger and a queue. It holds no state: any number of instances, in any number of
 * processes, work on one ledger.
 * @example createLifecycle({ ledger, queue, clock, settings, random: Math.random, newId: randomId })
 */
export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const canSeeProcesses = options.holderGone !== undefined;
  const context: LedgerContext = {
    ...options,
    holderGone: options.holderGone ?? (() => false),
    onEnded: options.onEnded ?? (() => undefined),
    canSeeProcesses,
  };
  return {
    admit: (request) => admit(context, request),
    claim: (request) => claim(context, request),
    renew: (held) => renew(context, held),
    baseVersion: (held, current) => baseVersion(context, held, current),
    settle: (held, end) => settle(context, held, end),
    onRecord: (record) => onRecord(context, record),
    recover: () => recover(context),
    pause: (asked) => pause(context, asked),
    resume: (scope) => resume(context, scope),
    pauses: () => listPauses(context.ledger),
    wake: (task) => sendWakeUp(context, task, 0),
    getTask: async (id) => (await findTask(context, id))?.task,
    listTasks: (page) => listTasks(context, page),
    putFacts: (facts) => putFacts(context, facts),
    getFacts: (target) => getFacts(context, target),
    forgetFacts: (target, observedAt) => forgetFacts(context, target, observedAt),
    listFacts: (page) => listFacts(context, page),
    async openTasks(target) {
      const items = await context.ledger.getMany(TASK_KINDS.map((kind) => openKey(target, kind)));
      const ids = items.flatMap((item) => Object.values(readOpen(item)) as string[]);
      const tasks = await readTasks(context, ids);
      return ids.flatMap((id) => tasks.get(id)?.task ?? []);
    },
    async health(target) {
      const items = await context.ledger.getMany(TASK_KINDS.map((kind) => healthKey(target, kind)));
      const entries = TASK_KINDS.map((kind, index) => [kind, readHealth(items[index], target, kind)] as const);
      return Object.fromEntries(entries) as Record<TaskKind, Health>;
    },
    async leaseOf(target) {
      const { holder, token } = readLease(await context.ledger.get(leaseKey(target)));
      if (!holder) return undefined;
      return { taskId: holder.taskId, kind: holder.kind, expiresAt: holder.expiresAt, token };
    },
  };
}
