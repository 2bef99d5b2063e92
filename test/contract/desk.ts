import { UpkeepError } from '../../src/errors.ts';
import type { Delivery, Ledger } from '../../src/tasks/ports.ts';
import type { AttemptContext, Perform, WorkResult } from '../../src/tasks/task.ts';
import { createWorker, type DeliveryOptions, type Worker, type WorkerEvent } from '../../src/tasks/worker.ts';
import { type MakeLedger, TABLE, World, type WorldOptions, workResult } from './ledger-world.ts';
import { settleTurns } from './test-clock.ts';

export const BODY = JSON.stringify({ kind: 'Compact', target: TABLE });

/** A worker over a fresh ledger, with its work, its answers and its roots in the test's hands. */
export class Desk {
  readonly world: World;
  readonly worker: Worker;
  readonly runs: AttemptContext[] = [];
  readonly exits: UpkeepError[] = [];
  readonly events: WorkerEvent[] = [];
  /** Targets whose table is gone. */
  readonly missing = new Set<string>();
  perform: Perform = async (context) => workResult(context.task.kind);
  /** Of so many written transactions the answer is lost. */
  loseAnswers = 0;
  unreachable = false;
  #messages = 0;

  constructor(make: MakeLedger, options: WorldOptions) {
    this.world = new World(make, { ...options, wrap: (ledger) => this.#flaky(ledger) });
    this.worker = createWorker({
      lifecycle: this.world.lifecycle,
      queue: this.world.queue,
      clock: this.world.clock,
      perform: (context) => {
        this.runs.push(context);
        return this.perform(context);
      },
      canonicalTarget: (target) => this.#canonical(target),
      newId: () => this.world.newId(),
      holder: 'here|1|a',
      exit: (error) => this.exits.push(error),
      onEvent: (event) => this.events.push(event),
    });
  }

  deliver(body: string, delivery: Partial<Delivery> = {}, how?: DeliveryOptions) {
    this.#messages += 1;
    const messageId = `m${this.#messages}`;
    const sentAt = this.world.clock.now();
    return this.worker.handleDelivery({ messageId, receiveCount: 1, kind: 'Compact', sentAt, body, ...delivery }, how);
  }

  /** Work that stays until the test lets it go, or until it is aborted. */
  held(): { release: () => void } {
    const { promise, resolve, reject } = Promise.withResolvers<WorkResult>();
    this.perform = (context) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason));
      return promise;
    };
    return { release: () => resolve(workResult('Compact')) };
  }

  async untilRunning(): Promise<AttemptContext> {
    for (let turns = 0; turns < 200 && this.runs.length === 0; turns += 1) await settleTurns();
    const [context] = this.runs;
    if (!context) throw new Error('The work did not begin.');
    return context;
  }

  #canonical(target: string): string {
    if (this.missing.has(target)) throw refusal('TABLE_NOT_FOUND', `${target} is not there.`);
    if (!target.startsWith('/data/')) throw refusal('TARGET_OUTSIDE_ROOTS', `${target} is outside the roots.`);
    return target.replace(/\/+/g, '/');
  }

  #flaky(ledger: Ledger): Ledger {
    return {
      ...ledger,
      transact: async (writes, transaction) => {
        if (this.unreachable) throw lostAnswer();
        const result = await ledger.transact(writes, transaction);
        if (this.loseAnswers > 0 && result.written) {
          this.loseAnswers -= 1;
          throw lostAnswer();
        }
        return result;
      },
    };
  }
}

function refusal(code: string, message: string): UpkeepError {
  return new UpkeepError(message, { code, disposition: 'permanent' });
}

function lostAnswer(): UpkeepError {
  return new UpkeepError('The connection broke.', { code: 'LEDGER_UNAVAILABLE', disposition: 'contention' });
}
