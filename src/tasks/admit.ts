import { planAdmission } from './admission-plan.ts';
import type { Admission } from './api.ts';
import { dependencyCycle, dependencyFailed, dependencyUnknown, taskIdMismatch, tooManyDependencies } from './errors.ts';
import { openKey, type TaskRecord } from './items.ts';
import { findTask, findTasks, type LedgerContext, readTasks, transact, untilWritten } from './ledger-context.ts';
import { changeOpen, type OpenTasks, readOpen } from './table-items.ts';
import { hasEnded, type TaskKind, type TaskRequest } from './task.ts';

export const MAX_DEPENDENCIES = 20;

/** Rules 1 to 4 of "Admit": one transaction that makes a task, joins one, or finds that the request was answered. */
export async function admit(context: LedgerContext, request: TaskRequest): Promise<Admission> {
  const id = request.taskId ?? context.newId();
  const wanted = [...new Set(request.dependsOn ?? [])];
  if (wanted.length > MAX_DEPENDENCIES) throw tooManyDependencies(id, wanted.length, MAX_DEPENDENCIES);
  if (wanted.includes(id)) throw dependencyCycle(id, id);
  return untilWritten<Admission>(context, `admit ${id}`, async () => {
    if (request.taskId !== undefined) {
      const answered = await findTask(context, id);
      if (answered) return answer(id, request, answered);
    }
    const dependencies = await resolveDependencies(context, wanted);
    const { open, next, current } = await readOpenTasks(context, request.target, request.kind);
    if (open.next !== undefined && !isUnclaimed(next)) return 'changed';
    // Another call wrote the same request after it was looked up. It must not join itself.
    if (open.next === id || open.current === id) return 'changed';
    const plan = planAdmission({
      request,
      id,
      named: request.taskId !== undefined,
      dependencies,
      open,
      next,
      current,
      now: context.clock.now(),
      historyMs: context.settings.taskHistoryMs,
    });
    const { taskId, task, joined } = plan;
    if (plan.writes.length === 0) return { taskId, task, joined };
    const openWrite = joined ? [] : [changeOpen(request.target, request.kind, open, plan.open)];
    const result = await transact(context, [...plan.writes, ...openWrite]);
    return result.written ? { taskId, task, joined } : 'changed';
  });
}

/** The open tasks of one kind on one target, with their records. */
export async function readOpenTasks(
  context: LedgerContext,
  target: string,
  kind: TaskKind,
): Promise<{ open: OpenTasks; next: TaskRecord | undefined; current: TaskRecord | undefined }> {
  const open = readOpen(await context.ledger.get(openKey(target, kind)));
  const ids = [open.next, open.current].filter((id) => id !== undefined);
  const found = await readTasks(context, ids);
  return { open, next: found.get(open.next ?? ''), current: found.get(open.current ?? '') };
}

/** OPEN and TASK are read one after the other. A `next` that began in between takes no more requests. */
export function isUnclaimed(next: TaskRecord | undefined): boolean {
  return next !== undefined && next.task.attempts === 0 && !hasEnded(next.task.state);
}

function answer(id: string, request: TaskRequest, { task }: TaskRecord): Admission {
  if (task.kind !== request.kind || task.target !== request.target) throw taskIdMismatch(id, task);
  return { taskId: task.id, task, joined: task.id !== id };
}

async function resolveDependencies(context: LedgerContext, ids: readonly string[]): Promise<readonly TaskRecord[]> {
  const found = await findTasks(context, ids);
  const resolved = new Map<string, TaskRecord>();
  for (const [index, id] of ids.entries()) {
    const record = found[index];
    if (!record) throw dependencyUnknown(id);
    if (record.task.state === 'failed') throw dependencyFailed(id, record.task.error?.message);
    resolved.set(record.task.id, record);
  }
  return [...resolved.values()];
}
