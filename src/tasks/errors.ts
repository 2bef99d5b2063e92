import { UpkeepError } from '../errors.ts';
import type { Task, TaskKind } from './task.ts';

/** The lease or the attempt belongs to another holder now. Nothing may be committed any more. */
export function leaseLost(target: string, reason: string): UpkeepError {
  return new UpkeepError(`The lease of ${target} is lost: ${reason}.`, {
    code: 'LEASE_LOST',
    disposition: 'contention',
    next: 'Nothing is to be done: the task runs again under its next holder.',
  });
}

/** The end of an attempt whose holder did not come back. */
export function holderLost(target: string): UpkeepError {
  return new UpkeepError(`The holder of the lease of ${target} did not renew it and is taken as dead.`, {
    code: 'HOLDER_LOST',
    disposition: 'failure',
    next: 'If it repeats, look whether the process runs out of memory or out of time.',
  });
}

export function deadlineReached(target: string): UpkeepError {
  return new UpkeepError(`The attempt on ${target} ran out of time before it made progress.`, {
    code: 'DEADLINE',
    disposition: 'failure',
    next: 'It is tried again; if it repeats, give the task more time or lower the limits of one pass.',
  });
}

export function shutdown(target: string): UpkeepError {
  return new UpkeepError(`The work on ${target} was stopped since the process shuts down.`, {
    code: 'SHUTDOWN',
    disposition: 'contention',
    next: 'The task stays queued and runs when the process is started again.',
  });
}

export function taskIdMismatch(id: string, task: { kind: TaskKind; target: string }): UpkeepError {
  return new UpkeepError(`The task id ${id} is already the one of ${task.kind} on ${task.target}.`, {
    code: 'TASK_ID_MISMATCH',
    disposition: 'permanent',
    next: 'Send the message with another taskId, or without one.',
  });
}

export function dependencyUnknown(id: string): UpkeepError {
  return new UpkeepError(`The dependency ${id} is not known to the ledger.`, {
    code: 'DEPENDENCY_UNKNOWN',
    disposition: 'contention',
    next: 'Send the task it names first; a message is tried again until it is 15 minutes old.',
  });
}

export function dependencyFailed(id: string, why: string | undefined): UpkeepError {
  return new UpkeepError(`The dependency ${id} has failed${why ? `: ${why}` : '.'}`, {
    code: 'DEPENDENCY_FAILED',
    disposition: 'permanent',
    next: `Repair what made ${id} fail, then ask for both again.`,
  });
}

export function dependencyCycle(task: string, dependency: string): UpkeepError {
  return new UpkeepError(
    `The request would make ${task} wait for ${dependency}, which is not ranked below it, so that they might wait for each other.`,
    {
      code: 'DEPENDENCY_CYCLE',
      disposition: 'permanent',
      next: `Ask again when ${dependency} has ended, or leave the dependency out.`,
    },
  );
}

export function tooManyDependencies(task: string, count: number, most: number): UpkeepError {
  return new UpkeepError(`The request ${task} has ${count} dependencies; at most ${most} are possible.`, {
    code: 'DEPENDENCIES_TOO_MANY',
    disposition: 'permanent',
    next: 'Depend on fewer tasks, for example on one that depends on the others.',
  });
}

export function metricsMissing(task: Task): UpkeepError {
  return new UpkeepError(`The compaction ${task.id} of ${task.target} ended without its metrics.`, {
    code: 'COMPACTION_METRICS_MISSING',
    disposition: 'failure',
    next: 'This is a fault of the program: report it.',
  });
}

/** Others kept changing the items that this call tried to change. */
export function ledgerBusy(what: string): UpkeepError {
  return new UpkeepError(`The ledger changed under every try to ${what}.`, {
    code: 'LEDGER_BUSY',
    disposition: 'contention',
    next: 'It is tried again by itself.',
  });
}

export function cursorInvalid(cursor: string): UpkeepError {
  return new UpkeepError(`${JSON.stringify(cursor)} is no cursor of the history.`, {
    code: 'CURSOR_INVALID',
    disposition: 'permanent',
    next: 'Give back the "next" of the page before as it is, or leave it out for the first page.',
  });
}
