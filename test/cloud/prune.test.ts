import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { connectTo, misread } from '../fixtures/fleet-on-s3.ts';
import { moveClock, resetClock } from '../fixtures/handlers.ts';

const run = promisify(execFile);
const PROCESS = fileURLToPath(new URL('../fixtures/worker-process.ts', import.meta.url));
const settings = { VERSION_RETENTION: '0', GENERATION_RETENTION: '0', PRUNE_KEEP_VERSIONS: '1' };

describe.each([
  ['before anything went', 2],
  ['between manifests and files', 3],
])('a prune on S3 whose process is killed %s', (_, fence) => {
  let fleet: CloudFleet;
  const taskId = 'prune-by-hand';

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['healthy'], settings });
    const table = await (await connectTo(fleet.stack.root, fleet.stack.environment)).openTable('healthy');
    // Rows that come and go: the table reads as before, and each step leaves a version and files behind.
    for (let n = 0; n < 6; n += 1) {
      await table.add((await table.query().limit(1).toArray()).map((row) => ({ ...row.toJSON(), id: `extra-${n}` })));
      await table.delete("id LIKE 'extra-%'");
    }
    await (await table.tags()).create('kept', (await table.version()) - 4);
    const body = JSON.stringify({ kind: 'Prune', target: fleet.target('healthy'), taskId });
    const killed = run(process.execPath, ['--no-warnings', PROCESS, 'Prune', body, String(fence)], {
      env: { ...process.env, ...fleet.stack.environment },
    });
    await expect(killed).rejects.toMatchObject({ signal: 'SIGKILL' });
  });
  afterAll(() => {
    resetClock();
    vi.restoreAllMocks();
  });

  it('is finished by the next attempt: head and tag stay with their files, nothing else and no record', async () => {
    const bucket = fleet.cloud.storageFor(fleet.stack.root);
    expect((await bucket.list('_lance_upkeep/prune/')).objects).toHaveLength(1);
    moveClock(211_000);
    await fleet.handlers[0]?.sweep('recover');
    await fleet.minute();
    await fleet.minute();

    expect(await fleet.planner.lifecycle.getTask(taskId)).toMatchObject({ state: 'done', attempts: 2 });
    expect((await bucket.list('healthy.lance/_versions/18446744')).objects).toHaveLength(2);
    expect((await bucket.list('_lance_upkeep/prune/')).objects).toEqual([]);
    const named = (await bucket.list('healthy.lance/_transactions/')).objects;
    expect(named).toHaveLength(2);
    expect(await misread(fleet.stack.root, fleet.stack.environment, fleet.expected)).toEqual([]);
    const tagged = await (await connectTo(fleet.stack.root, fleet.stack.environment)).openTable('healthy');
    await tagged.checkout('kept');
    expect(await tagged.query().toArray()).toHaveLength(await tagged.countRows());
  });
});
