import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { demoRow } from '../../src/demo/content.ts';
import { readGate } from '../../src/work/gate.ts';
import { requestsTo } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { connectTo } from '../fixtures/fleet-on-s3.ts';

const run = promisify(execFile);
const PROCESS = fileURLToPath(new URL('../fixtures/worker-process.ts', import.meta.url));

describe('the gate on S3', () => {
  let fleet: CloudFleet;

  async function counted(name: string, work: () => Promise<unknown>) {
    const path = `/${fleet.stack.bucket}`;
    const before = (await requestsTo(path)).length;
    const result = await work();
    const requests = (await requestsTo(path)).slice(before);
    return { name, result, requests: requests.length, bytes: requests.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['healthy'] });
    // The roots are claimed by the sweep, before any message.
    await fleet.sweep();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('answers with the BTree present after at most 2 requests and 70 KB, also for a table of 60 fragments', async () => {
    const connection = await connectTo(fleet.stack.root, fleet.stack.environment);
    const table = await connection.openTable('healthy');
    for (let count = 0; count < 60; count += 1) await table.add([{ ...demoRow('healthy', `x-${count}`, 0) }]);
    const gate = await counted('gate', () => readGate(fleet.cloud.storageFor(fleet.target('healthy'))));

    expect(gate.result).toMatchObject({ coverage: 'covering', keyIndex: { kind: 'BTree', uncoveredFragments: 60 } });
    expect(gate.requests).toBeLessThanOrEqual(2);
    expect(gate.bytes).toBeLessThan(70_000);
  });

  it('lets a merge with nothing to do end after those 2 requests, without a native library in its process', async () => {
    const body = JSON.stringify({ kind: 'MergeWal', target: fleet.target('healthy'), taskId: 'nothing-to-merge' });
    const merge = await counted('merge', async () => {
      const { stdout } = await run(process.execPath, ['--no-warnings', PROCESS, 'MergeWal', body], {
        env: { ...process.env, ...fleet.stack.environment },
      });
      return JSON.parse(stdout);
    });

    expect(merge).toMatchObject({ result: { fences: 0, native: false }, requests: 2 });
    expect(merge.bytes).toBeLessThan(70_000);
    expect(await fleet.planner.lifecycle.getTask('nothing-to-merge')).toMatchObject({
      state: 'done',
      result: { rewroteNothing: true },
    });
  });
});
