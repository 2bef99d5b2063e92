import type { Task } from '../tasks/task.ts';
import type { TaskReport } from './reports.ts';

/** A task of the ledger as operators see it. */
export function taskReport(task: Task): TaskReport {
  return {
    id: task.id,
    kind: task.kind,
    target: task.target,
    state: task.state,
    reasons: task.reasons,
    dependsOn: task.dependsOn,
    attempts: task.attempts,
    result: task.result ?? null,
    error: task.error ?? null,
    createdAt: new Date(task.createdAt).toISOString(),
    startedAt: iso(task.startedAt),
    endedAt: iso(task.endedAt),
    notBefore: iso(task.notBefore),
  };
}

function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
