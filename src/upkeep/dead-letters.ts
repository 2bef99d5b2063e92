import type { Clock, DeadLetterQueue } from '../tasks/ports.ts';
import { TASK_KINDS } from '../tasks/task.ts';
import type { Operator } from './operator.ts';
import { type ProgressEvent, SCHEMA_VERSION } from './reports.ts';

export interface DeadLetterDeskOptions {
  readonly queue: DeadLetterQueue;
  readonly clock: Pick<Clock, 'now'>;
  readonly onProgress: (event: ProgressEvent) => void;
}

/** Dead letters of all queues as one list. A dead letter is looked for in each queue, since its id does not tell which. */
export function createDeadLetterDesk({
  queue,
  clock,
  onProgress,
}: DeadLetterDeskOptions): Pick<Operator, 'deadLetters' | 'redrive' | 'deleteDeadLetter'> {
  return {
    async deadLetters({ queue: named, limit }) {
      const kinds = named === undefined ? TASK_KINDS : [named];
      const found = (await Promise.all(kinds.map((kind) => queue.deadLetters(kind, limit)))).flat();
      const deadLetters = found.sort((a, b) => b.deadAt - a.deadAt).slice(0, limit);
      return {
        schemaVersion: SCHEMA_VERSION,
        deadLetters: deadLetters.map(({ kind, deadAt, ...deadLetter }) => ({
          ...deadLetter,
          queue: kind,
          deadAt: new Date(deadAt).toISOString(),
        })),
      };
    },
    async redrive(messageId) {
      for (const kind of TASK_KINDS) {
        const outcome = await queue.redrive(kind, messageId);
        if (outcome === 'not found') continue;
        if (outcome === 'sent, dead letter stays') {
          const message = `It was sent, but the dead letter itself could not be removed: "lance-upkeep dlq delete ${messageId}" does.`;
          onProgress({ at: clock.now(), stage: 'progress', message, kind, messageId });
        }
        return true;
      }
      return false;
    },
    async deleteDeadLetter(messageId) {
      for (const kind of TASK_KINDS) if (await queue.deleteDeadLetter(kind, messageId)) return true;
      return false;
    },
  };
}
