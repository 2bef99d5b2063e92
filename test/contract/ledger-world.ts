import { expect } from 'vitest';
import { typedErrorIn } from '../../src/errors.ts';
import type { AttemptEnd, Claim, ClaimOutcome, Lifecycle, LifecycleSettings } from '../../src/tasks/api.ts';
import { createLifecycle } from '../../src/tasks/lifecycle.ts';
import type { ChangeFeed, Clock, Ledger, TaskQueue } from '../../src/tasks/ports.ts';
import type { CompactionMetrics, TaskKind, TaskRequest, WorkResult } from '../../src/tasks/task.ts';
import { type Hostility, hostileFeed, hostileLedger, seeded } from './hostile-ledger.ts';
import { SETTINGS } from './settings.ts';
import { TestClock } from './test-clock.ts';

export interface LedgerUnderTest {
  readonly ledger: Ledger;
  readonly feed: ChangeFeed;
  close(): void;
}

/** Makes an empty ledger whose time is the clock's. */
export type MakeLedger = (clock: Clock) => LedgerUnderTest;

export const TABLE = '/data/db/x.lance';
export const MINUTE = 60_000;

export interface SentMessage {
  readonly kind: TaskKind;
  readonly body: string;
  readonly delayMs: number;
  readonly visibleAt: number;
  readonly taskId: string | undefined;
}

/** A queue that keeps everything it was given, so that tests can look at it. */
export class TestQueue implements TaskQueue {
  readonly sent: SentMessage[] = [];
  readonly dead: Parameters<TaskQueue['deadLetter']>[0][] = [];
  readonly visibleCounts = new Map<TaskKind, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async send({ kind, body, delayMs = 0 }: { kind: TaskKind; body: string; delayMs?: number }): Promise<void> {
    const { taskId } = JSON.parse(body) as { taskId?: string };
    this.sent.push({ kind, body, delayMs, taskId, visibleAt: this.#clock.now() + delayMs });
  }

  async deadLetter(deadLetter: Parameters<TaskQueue['deadLetter']>[0]): Promise<void> {
    this.dead.push(deadLetter);
  }

  async visible(kind: TaskKind): Promise<number> {
    return this.visibleCounts.get(kind) ?? 0;
  }

  wakeUpsOf(taskId: string): readonly SentMessage[] {
    return this.sent.filter((message) => message.taskId === taskId);
  }

  clear(): void {
    this.sent.length = 0;
  }
}

export interface WorldOptions {
  readonly hostility?: Partial<Hostility>;
  readonly settings?: Partial<LifecycleSettings>;
  readonly holderGone?: (holder: string) => boolean;
  /** Goes around the ledger that the lifecycle sees. */
  readonly wrap?: (ledger: Ledger) => Ledger;
  readonly seed?: number;
}

/** A lifecycle over a fresh ledger, with clock and queue in the test's hands. */
export class World {
  readonly clock = new TestClock();
  readonly queue = new TestQueue(this.clock);
  readonly base: LedgerUnderTest;
  readonly ledger: Ledger;
  readonly feed: ChangeFeed;
  readonly lifecycle: Lifecycle;
  readonly hostile: boolean;
  #ids = 0;

  constructor(make: MakeLedger, options: WorldOptions = {}) {
    this.base = make(this.clock);
    const random = seeded(options.seed ?? 7);
    const calm = { random, failed: 0, lost: 0, stale: 0, doubled: 0, late: 0, dropped: 0 };
    const hostility = { ...calm, ...options.hostility };
    this.hostile = options.hostility !== undefined;
    const near = this.hostile ? hostileLedger(this.base.ledger, hostility) : this.base.ledger;
    this.ledger = options.wrap ? options.wrap(near) : near;
    this.feed = this.hostile ? hostileFeed(this.base.feed, hostility) : this.base.feed;
    const lifecycle = createLifecycle({
      ledger: this.ledger,
      queue: this.queue,
      clock: this.clock,
      settings: { ...SETTINGS, ...options.settings },
      random,
      newId: () => this.newId(),
      ...(options.holderGone ? { holderGone: options.holderGone } : {}),
    });
    this.lifecycle = this.hostile ? insisting(lifecycle) : lifecycle;
  }

  newId(): string {
    this.#ids += 1;
    return `generated-${this.#ids}`;
  }

  admit(taskId: string, request: Partial<TaskRequest> = {}) {
    return this.lifecycle.admit({ taskId, kind: 'Compact', target: TABLE, ...request });
  }

  claim(taskId: string, claimId = `claim-${this.newId()}`, holder = 'here|1|a'): Promise<ClaimOutcome> {
    return this.lifecycle.claim({ taskId, claimId, holder });
  }

  /** Claims, and fails the test when that is refused. */
  async begin(taskId: string, claimId?: string, holder?: string): Promise<Claim> {
    const outcome = await this.claim(taskId, claimId, holder);
    expect(outcome).toMatchObject({ outcome: 'claimed' });
    if (outcome.outcome !== 'claimed') throw new Error(`${taskId} was not claimed`);
    return outcome.claim;
  }

  async finish(claim: Claim, result: Partial<WorkResult> = {}) {
    return this.lifecycle.settle(claim, { end: 'done', result: workResult(claim.task.kind, result) });
  }

  fail(claim: Claim, disposition: 'contention' | 'failure' | 'permanent' = 'failure', code = 'WORK_FAILED') {
    return this.lifecycle.settle(claim, failedEnd(disposition, code));
  }

  async state(taskId: string) {
    return (await this.lifecycle.getTask(taskId))?.state;
  }

  /** Handles records until none comes any more. */
  async handleChanges(): Promise<void> {
    for (let quiet = 0; quiet < (this.hostile ? 12 : 1); ) {
      const { records } = await this.feed.read(50);
      for (const record of records) {
        await this.lifecycle.onRecord(record);
        await this.feed.handled(record.sequence);
      }
      quiet = records.length === 0 ? quiet + 1 : 0;
    }
  }

  close(): void {
    this.base.close();
  }
}

export function workResult(kind: TaskKind, result: Partial<WorkResult> = {}): WorkResult {
  return {
    rewroteNothing: false,
    versionBefore: 1,
    versionAfter: 2,
    metrics: {},
    proof: {},
    ...(kind === 'Compact' ? { compaction: compaction() } : {}),
    ...result,
  };
}

export function compaction(metrics: Partial<CompactionMetrics> = {}): CompactionMetrics {
  return {
    fragmentsRemoved: 16,
    fragmentsAdded: 1,
    bytesRead: 100,
    bytesWritten: 90,
    durationMs: 5,
    versionBefore: 1,
    versionAfter: 2,
    strategy: 'optimize',
    ...metrics,
  };
}

export function failedEnd(disposition: 'contention' | 'failure' | 'permanent', code = 'WORK_FAILED'): AttemptEnd {
  return { end: 'error', error: { code, message: 'It did not work.', disposition } };
}

/** Asks again when an answer was lost, as the callers of the lifecycle do. */
export function insisting(lifecycle: Lifecycle): Lifecycle {
  const entries = Object.entries(lifecycle).map(([name, method]) => {
    const call = method as (...values: unknown[]) => Promise<unknown>;
    return [name, (...values: unknown[]) => insist(() => call(...values))] as const;
  });
  return Object.fromEntries(entries) as unknown as Lifecycle;
}

async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      const code = typedErrorIn(error)?.code;
      if ((code !== 'LEDGER_UNAVAILABLE' && code !== 'LEDGER_BUSY') || tries > 50) throw error;
    }
  }
}
