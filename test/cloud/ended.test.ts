import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openPlanner } from '../../src/aws/open-planner.ts';
import { openWorker } from '../../src/aws/open-worker.ts';
import { UpkeepError } from '../../src/errors.ts';
import { MAX_FAILURES } from '../../src/tasks/cooldown.ts';
import { type CloudStack, createCloudStack } from '../fixtures/cloud-stack.ts';
import { StreamReader } from '../fixtures/dynamo-ledger-world.ts';
import { moveClock, resetClock } from '../fixtures/handlers.ts';

type Line = Record<string, unknown>;

describe('the minute’s repair', () => {
  it('counts and logs what it could not handle, and does the rest', async () => {
    const stack = await createCloudStack();
    Object.assign(process.env, stack.environment);
    const lines: Line[] = [];
    const gone = `${stack.names.queues.Compact.url}-gone`;
    const { lifecycle, recover } = await openPlanner(
      { ...stack.environment, UPKEEP_COMPACT_QUEUE: gone },
      { write: (line) => void lines.push(JSON.parse(line) as Line) },
    );
    await lifecycle.admit({ taskId: 'lost', kind: 'Prune', target: `${stack.root}/a.lance` });
    moveClock(61_000);
    await recover();

    expect(lines.filter((line) => '_aws' in line)).toEqual([
      expect.objectContaining({ stage: 'recover', RecoverErrors: 1, TasksWoken: 1 }),
    ]);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ stage: 'recover', code: 'QUEUE_UNAVAILABLE' }),
    ]);
    resetClock();
  });
});

describe('the end of a task', () => {
  let stack: CloudStack;
  let lines: Line[];

  beforeEach(async () => {
    stack = await createCloudStack();
    Object.assign(process.env, stack.environment);
    lines = [];
  });
  afterAll(() => {
    resetClock();
    vi.restoreAllMocks();
  });

  const write = (line: string) => void lines.push(JSON.parse(line) as Line);
  const planner = () => openPlanner({ ...stack.environment, UPKEEP_STACK: 'lake' }, { write });
  const counted = (outcome: string) => lines.filter((line) => '_aws' in line && line.outcome === outcome);
  const told = (stage: string) => lines.filter((line) => !('_aws' in line) && line.stage === stage);
  const target = (name: string) => `${stack.root}/${name}.lance`;

  /** Loses the holder of a task until the ledger ends it. */
  async function loseAgain(taskId: string): Promise<void> {
    const { lifecycle, recover } = await planner();
    for (let count = 1; count <= MAX_FAILURES; count += 1) {
      const outcome = await lifecycle.claim({ taskId, claimId: `${taskId}-${count}`, holder: 'killed' });
      expect(outcome.outcome).toBe('claimed');
      moveClock(211_000);
      await recover();
      moveClock(6 * 3_600_000);
    }
  }

  it('is counted and logged when recover finds its holder killed for the eighth time', async () => {
    const { lifecycle } = await planner();
    await lifecycle.admit({ taskId: 'deadly', kind: 'Compact', target: target('deadly') });
    await loseAgain('deadly');

    const about = { kind: 'Compact', target: target('deadly'), taskId: 'deadly', code: 'HOLDER_LOST' };
    expect(counted('failed')).toEqual([expect.objectContaining({ ...about, Tasks: 1 })]);
    expect(told('failed')).toEqual([expect.objectContaining({ ...about, level: 'error' })]);
    expect(JSON.stringify(counted('failed'))).toContain('"Namespace":"LanceUpkeep/lake"');
  });

  it('is counted and logged of what depended on it, too, by the stream that fails it', async () => {
    const { lifecycle, onRecord } = await planner();
    await lifecycle.admit({ taskId: 'first', kind: 'Compact', target: target('a') });
    await lifecycle.admit({ taskId: 'second', kind: 'IndexId', target: target('a'), dependsOn: ['first'] });
    await loseAgain('first');
    for (const record of await new StreamReader(stack.names.table).next()) await onRecord(record);

    expect(counted('failed').map(({ taskId, kind, code }) => [taskId, kind, code])).toEqual([
      ['first', 'Compact', 'HOLDER_LOST'],
      ['second', 'IndexId', 'DEPENDENCY_FAILED'],
    ]);
    expect(told('failed')).toHaveLength(2);
  });

  it('is counted once by a queue whose work fails for good, and once by one whose work is done', async () => {
    const bodies = ['bad', 'good'].map((taskId) =>
      JSON.stringify({ kind: 'Prune', target: target(taskId), taskId, reason: 'manual' }),
    );
    const worker = await openWorker(
      'Prune',
      { ...process.env, ...stack.environment },
      {
        write,
        wrapPerform: () => async (context) => {
          if (context.task.id === 'bad') throw new UpkeepError('No.', { code: 'NULL_KEYS', disposition: 'permanent' });
          return { rewroteNothing: true, versionBefore: 1, versionAfter: 1, metrics: {}, proof: {} };
        },
      },
    );
    for (const body of bodies) {
      const attributes = { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) };
      await worker.deliver(
        { messageId: body, receiptHandle: 'none', body, attributes },
        { remainingMs: () => 900_000, requestId: 'request-1' },
      );
    }

    expect(counted('done')).toEqual([expect.objectContaining({ taskId: 'good', Tasks: 1 })]);
    expect(counted('failed')).toEqual([expect.objectContaining({ taskId: 'bad', code: 'NULL_KEYS', Tasks: 1 })]);
    expect(told('failed')).toHaveLength(1);
    expect(told('done')).toEqual([expect.objectContaining({ taskId: 'good', requestId: 'request-1' })]);
  });

  it('is not what a malformed message comes to: that has an outcome of its own, with its message id', async () => {
    const worker = await openWorker('Compact', { ...process.env, ...stack.environment }, { write });
    const attributes = { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) };
    await worker.deliver(
      { messageId: 'dead-letter-1', receiptHandle: 'none', body: 'please compact', attributes },
      { remainingMs: () => 900_000, requestId: 'request-1' },
    );

    const about = { kind: 'Compact', messageId: 'dead-letter-1', code: 'MESSAGE_NOT_JSON' };
    expect(counted('dead-letter')).toEqual([expect.objectContaining({ ...about, Tasks: 1 })]);
    expect(told('dead-letter')).toEqual([expect.objectContaining({ ...about, level: 'error' })]);
    expect([...counted('failed'), ...told('failed')]).toEqual([]);
  });
});
