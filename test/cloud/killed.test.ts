import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { misread } from '../fixtures/fleet-on-s3.ts';
import { moveClock, resetClock } from '../fixtures/handlers.ts';

const run = promisify(execFile);
const PROCESS = fileURLToPath(new URL('../fixtures/worker-process.ts', import.meta.url));

/** Commits of the first merge of `sessions`: index, rows, watermark. */
const COMMITS = [
  [1, 'before it built the index'],
  [2, 'before its rows were merged'],
  [3, 'between its rows and their watermark'],
] as const;

describe.each(COMMITS)('a merge whose process is killed (fence %i)', (fence, when) => {
  let fleet: CloudFleet;
  const taskId = 'merge-by-hand';

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['sessions'] });
    const body = JSON.stringify({ kind: 'MergeWal', target: fleet.target('sessions'), taskId });
    const killed = run(process.execPath, ['--no-warnings', PROCESS, 'MergeWal', body, String(fence)], {
      env: { ...process.env, ...fleet.stack.environment },
    });
    await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
  });
  afterAll(() => {
    resetClock();
    vi.restoreAllMocks();
  });

  it(`${when}, is brought back by recover after the lease’s end and ends done with every row once`, async () => {
    const target = fleet.target('sessions');
    await fleet.handlers[0]?.sweep('recover');
    expect(await fleet.planner.lifecycle.getTask(taskId)).toMatchObject({ state: 'running', attempts: 1 });

    moveClock(211_000);
    await fleet.handlers[0]?.sweep('recover');
    expect(await fleet.planner.lifecycle.getTask(taskId)).toMatchObject({
      state: 'queued',
      error: { code: 'HOLDER_LOST' },
    });
    expect(await fleet.planner.lifecycle.leaseOf(target)).toBeUndefined();

    await fleet.minute();
    await fleet.minute();
    expect(await fleet.planner.lifecycle.getTask(taskId)).toMatchObject({ state: 'done', attempts: 2 });
    await fleet.heal();
    expect(await misread(fleet.stack.root, fleet.stack.environment, fleet.expected)).toEqual([]);
    const scratch = await fleet.cloud.storageFor(fleet.stack.root).list('_lance_upkeep/scratch/');
    expect(scratch.objects).toEqual([]);
  });
});
