import type { Clock, DeadLetterQueue } from '../tasks/ports.ts';
import { TASK_KINDS } from '../tasks/task.ts';
import type { Operator } from './operator.ts';
import { type ProgressEvent, SCHEMA_VERSION } from './reports.ts';

export interface DeadLetterDeskOptions {
  readonly queue: DeadLetterQueue;
  readonly clock: Pick<Clock, 'now'>;
  readonly onProgress: (event: ProgressEvent) => void;
}

/** Dead letters of all lanes as one list. A letter is looked for in each lane, since its id does not tell which. */
export function createDeadLetterDesk({
  queue,
  clock,
  onProgress,
}: DeadLetterDeskOptions): Pick<Operator, 'deadLetters' | 'redrive' | 'deleteDeadLetter'> {
  return {
    async deadLetters({ lane, limit }) {
      const lanes = lane === undefined ? TASK_KINDS : [lane];
      const found = (await Promise.all(lanes.map((one) => queue.deadLetters(one, limit)))).flat();
      const letters = found.sort((a, b) => b.deadAt - a.deadAt).slice(0, limit);
      return {
        schemaVersion: SCHEMA_VERSION,
        letters: letters.map((letter) => ({ ...letter, deadAt: new Date(letter.deadAt).toISOString() })),
      };
    },
    async redrive(messageId) {
      for (const lane of TASK_KINDS) {
        const outcome = await queue.redrive(lane, messageId);
        if (outcome === 'not found') continue;
        if (outcome === 'sent, letter stays') {
          const message = `It was sent, but the letter itself could not be removed: "lance-upkeep dlq delete ${messageId}" does.`;
          onProgress({ at: clock.now(), stage: 'progress', message, kind: lane, messageId });
        }
        return true;
      }
      return false;
    },
    async deleteDeadLetter(messageId) {
      for (const lane of TASK_KINDS) if (await queue.deleteDeadLetter(lane, messageId)) return true;
      return false;
    },
  };
}
