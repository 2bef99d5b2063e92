import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/tasks/ports.ts';

/** Waits up to this long are retries inside the code under test; they end at once and move nothing. */
const INSTANT_MS = 4_000;

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that only moves when told to. */
export class TestClock implements Clock {
  #now = Date.UTC(2030, 0, 1);
  #monotonic = 1_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(delayMs: number, run: () => void): () => void {
    if (delayMs > 0 && delayMs <= INSTANT_MS) {
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    }
    const timer = { at: this.#monotonic + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves both clocks, and runs each timer when its time has come. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= end).sort((left, right) => left.at - right.at)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#step(Math.max(0, due.at - this.#monotonic));
      due.run();
      await settleTurns();
    }
    this.#step(end - this.#monotonic);
    await settleTurns();
  }

  /** Time passes and no timer runs: the process was paused. */
  pauseProcess(ms: number): void {
    this.#step(ms);
  }

  /** The wall clock is set; the monotonic one does not see it. */
  jump(ms: number): void {
    this.#now += ms;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  #step(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }
}

/** Lets promises and immediates that are ready run. */
export async function settleTurns(): Promise<void> {
  for (let turns = 0; turns < 8; turns += 1) await turn();
}
