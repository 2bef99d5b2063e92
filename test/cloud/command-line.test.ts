import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { outputsOf, ROOTS_OUTPUT } from '../../src/aws/names.ts';
import { cloudEnvironment, newBucket, s3Client, sqsClient } from '../fixtures/cloud.ts';
import { CloudFleet } from '../fixtures/cloud-fleet.ts';
import { startCloudFormation } from '../fixtures/cloudformation.ts';
import { compileCache } from '../fixtures/command.ts';
import { buildFleet, misread } from '../fixtures/fleet-on-s3.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real command line, with nothing in its environment but what is given. */
async function lanceUpkeep(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ran> {
  const env = { PATH: process.env.PATH, HOME: temporaryFolder(), NO_COLOR: '1', ...compileCache, ...environment };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--no-warnings', MAIN, ...words], { env });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

describe('the command line with a stack', () => {
  let fleet: CloudFleet;
  let cloudFormation: Awaited<ReturnType<typeof startCloudFormation>>;
  let environment: Record<string, string>;

  beforeAll(async () => {
    fleet = await CloudFleet.create({ tables: ['fragmented'] });
    await fleet.sweep();
    const outputs = { ...outputsOf(fleet.stack.names), [ROOTS_OUTPUT]: fleet.stack.root };
    cloudFormation = await startCloudFormation('upkeep', outputs);
    environment = { ...cloudEnvironment(), AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.endpoint };
  });
  afterAll(() => {
    cloudFormation.stop();
    vi.restoreAllMocks();
  });

  const onStack = (...words: string[]) => lanceUpkeep([...words, '--stack', 'upkeep'], environment);

  it('shows status, explain and inspect of what the stack knows, found by its outputs', async () => {
    const target = fleet.target('fragmented');
    const [status, explained, inspected] = await Promise.all([
      onStack('status', '--json'),
      onStack('explain', target, '--json'),
      onStack('inspect', target, '--json'),
    ]);

    expect(JSON.parse(status.stdout)).toEqual(JSON.parse(JSON.stringify(await fleet.queries.status())));
    expect(JSON.parse(explained.stdout)).toMatchObject({ target, openTasks: [{ kind: 'Compact', state: 'queued' }] });
    expect(JSON.parse(inspected.stdout)).toMatchObject({ target, fragments: 40, keyIndex: null });
  });

  it('finds the same by the names in the environment', async () => {
    const status = await lanceUpkeep(['status', '--json'], { ...fleet.stack.environment });

    expect(JSON.parse(status.stdout).tables).toHaveLength(1);
  });

  it('sends a task that the stack’s functions carry out, and shows it in the history', async () => {
    const sent = await onStack('send', 'IndexId', fleet.target('fragmented'), '--json');
    const { taskId, task } = JSON.parse(sent.stdout);
    expect(task).toMatchObject({ kind: 'IndexId', state: 'queued', reasons: ['manual'] });
    await fleet.sources.drain();
    await fleet.minute();
    const history = await onStack('history', fleet.target('fragmented'), '--json');
    const found = JSON.parse(history.stdout).tasks.find(({ id }: { id: string }) => id === taskId);

    expect(found).toMatchObject({ kind: 'IndexId', state: 'done', attempts: 1 });
  });

  it('waits for a task that another process carries out', async () => {
    const waiting = onStack('send', 'MergeWal', fleet.target('fragmented'), '--wait', '--json');
    let over = false;
    void waiting.finally(() => {
      over = true;
    });
    while (!over) await fleet.sources.drain();

    expect(await waiting).toMatchObject({ code: 0 });
    expect(JSON.parse((await waiting).stdout).task).toMatchObject({ kind: 'MergeWal', state: 'done' });
  });

  it('runs a task that waits for its next try at once with --force, and waits for it', async () => {
    const target = fleet.target('fragmented');
    const { lifecycle } = fleet.planner;
    const { taskId } = await lifecycle.admit({ kind: 'MergeWal', target });
    const claimed = await lifecycle.claim({ taskId, claimId: 'failing', holder: 'somebody' });
    if (claimed.outcome !== 'claimed') throw new Error(`The task is ${claimed.outcome}.`);
    const error = { code: 'STORE_IO', message: 'The disk was away.', disposition: 'failure' as const };
    await lifecycle.settle(claimed.claim, { end: 'error', error });
    await fleet.sources.drain();
    const unforced = await onStack('send', 'MergeWal', target, '--wait', '--json');
    expect(unforced).toMatchObject({ code: 1, stderr: expect.stringContaining('It is tried again at') });
    expect(JSON.parse(unforced.stdout).task).toMatchObject({ id: taskId, state: 'queued', attempts: 1 });

    const forced = onStack('send', 'MergeWal', target, '--force', '--wait', '--json');
    let over = false;
    void forced.finally(() => {
      over = true;
    });
    while (!over) await fleet.sources.drain();

    expect((await forced).code).toBe(0);
    expect(JSON.parse((await forced).stdout).task).toMatchObject({ id: taskId, state: 'done', attempts: 2 });
  });

  it('shows what a prune by the settings of this machine would delete, deletes nothing and asks for nothing', async () => {
    const target = fleet.target('fragmented');
    const objects = async () => (await fleet.cloud.storageFor(target).list('')).objects;
    const versions = (keys: readonly string[]) => keys.filter((key) => /^_versions\/\d+\.manifest$/.test(key));
    const dryRun = (settings: Readonly<Record<string, string>>) =>
      lanceUpkeep(['send', 'Prune', target, '--dry-run', '--json', '--stack', 'upkeep'], {
        ...environment,
        ...settings,
      });
    const [before, tasks] = await Promise.all([objects(), fleet.tasks()]);
    const manifests = versions(before.map(({ key }) => key));

    const byDefault = JSON.parse((await dryRun({})).stdout);
    const none = { VERSION_RETENTION: '0', GENERATION_RETENTION: '0', PRUNE_KEEP_VERSIONS: '2' };
    const preview = JSON.parse((await dryRun(none)).stdout);

    const count = manifests.length;
    expect(count).toBeGreaterThanOrEqual(40);
    expect(byDefault).toMatchObject({ versions: count, prunableVersions: 0, retentionMs: 7 * 86_400_000 });
    expect(preview).toMatchObject({ target, versions: count, prunableVersions: count - 2, retentionOf: 'settings' });
    expect(preview.retained).toEqual({ head: 1, newest: 1 });
    // Names count down, so the two newest come first in key order.
    expect(preview.plan.manifests.toSorted()).toEqual(manifests.toSorted().slice(2));
    const going = new Set([...preview.plan.manifests, ...preview.plan.files]);
    const bytes = before.filter(({ key }) => going.has(key)).reduce((sum, { size }) => sum + size, 0);
    expect(preview).toMatchObject({ bytes, files: preview.plan.files.length });
    expect(preview.files).toBeGreaterThan(30);
    expect([await objects(), await fleet.tasks()]).toEqual([before, tasks]);
  });

  it('shows no prune of a table outside of the stack’s roots', async () => {
    const { code, stdout } = await onStack('send', 'Prune', 's3://elsewhere/db/x.lance', '--dry-run', '--json');

    expect([code, JSON.parse(stdout).error.code]).toEqual([2, 'TARGET_OUTSIDE_ROOTS']);
  });

  it('pauses a table: the functions begin nothing new there, status says who and why, and a resume lets them go on', async () => {
    const target = fleet.target('fragmented');
    const paused = await onStack('pause', target, '--reason', 'a backup runs', '--by', 'Ada', '--json');
    const { taskId } = JSON.parse((await onStack('send', 'IndexId', target, '--json')).stdout);
    await fleet.sources.drain();
    await fleet.minute();
    const whilePaused = await fleet.planner.lifecycle.getTask(taskId);
    const status = JSON.parse((await onStack('status', '--json')).stdout);
    const resumed = await onStack('resume', target);
    for (let minute = 0; minute < 2; minute += 1) await fleet.minute();
    const after = JSON.parse((await onStack('status', '--json')).stdout);

    expect(JSON.parse(paused.stdout)).toMatchObject({ scope: target, by: 'Ada', reason: 'a backup runs' });
    expect(whilePaused).toMatchObject({ state: 'queued', attempts: 0 });
    expect(status.pauses).toEqual([JSON.parse(paused.stdout)]);
    expect(status.tables[0].reasons[0]).toMatch(/^This table is paused since .* by Ada: a backup runs\./);
    expect(resumed.code).toBe(0);
    expect(after.pauses).toEqual([]);
    expect(await fleet.planner.lifecycle.getTask(taskId)).toMatchObject({ state: 'done', attempts: 1 });
  });

  it('lists, shows, redrives and deletes dead letters', async () => {
    // Outside of the roots when it came; by the time it is sent again somebody has corrected nothing, and it comes back.
    const id = await fleet.put('Compact', { kind: 'Compact', target: 's3://elsewhere/db/x.lance' });
    await fleet.sources.drain();
    const listed = await onStack('dlq', 'list', '--json');
    const shown = await onStack('dlq', 'show', id);
    const redriven = await onStack('dlq', 'redrive', id);
    const empty = await onStack('dlq', 'list', '--json');
    await fleet.sources.drain();
    const back = await onStack('dlq', 'list', '--json');

    expect(listed.code).toBe(3);
    expect(JSON.parse(listed.stdout).deadLetters).toMatchObject([
      { messageId: id, queue: 'Compact', code: 'TARGET_OUTSIDE_ROOTS' },
    ]);
    expect(shown.stdout).toContain('"target":"s3://elsewhere/db/x.lance"');
    expect(redriven.code).toBe(0);
    expect([empty.code, JSON.parse(empty.stdout).deadLetters]).toEqual([0, []]);
    const [deadLetter] = JSON.parse(back.stdout).deadLetters;
    expect(JSON.parse(deadLetter.body)).toMatchObject({ taskId: `message-${id}` });
    expect((await onStack('dlq', 'redrive', 'nobody')).code).toBe(5);
    expect((await onStack('dlq', 'delete', deadLetter.messageId)).code).toBe(0);
    expect((await onStack('dlq', 'delete', deadLetter.messageId)).code).toBe(5);
    // Counted, since a dead letter that was only looked at would be hidden for some seconds, too.
    const QueueUrl = fleet.stack.names.queues.Compact.deadLetters;
    const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
    const counted = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] });
    const { Attributes = {} } = await sqsClient().send(counted);
    expect(AttributeNames.map((name) => Attributes[name])).toEqual(['0', '0']);
  });

  it('says what is missing: a stack, a name, a reason to run', async () => {
    const missing = await lanceUpkeep(['status', '--stack', 'other', '--json'], environment);
    const unnamed = await lanceUpkeep(['status', '--json'], { ...environment, UPKEEP_TABLE: 'only-this' });
    const run = await onStack('run', fleet.stack.root, '--json');

    expect([missing.code, JSON.parse(missing.stdout).error.code]).toEqual([5, 'STACK_NOT_FOUND']);
    expect([unnamed.code, JSON.parse(unnamed.stdout).error.code]).toEqual([2, 'CLOUD_NAME_MISSING']);
    expect([run.code, JSON.parse(run.stdout).error.code]).toEqual([2, 'RUN_ON_STACK']);
  });

  it('is refused a root that the stack maintains', async () => {
    const run = await lanceUpkeep(['run', fleet.stack.root, '--json'], cloudEnvironment());

    expect(JSON.parse(run.stdout).error).toMatchObject({ code: 'ROOT_OWNED' });
  });
});

describe('the command line without any stack', () => {
  it('maintains tables on S3 from this machine, with the ledger in a file', async () => {
    const root = `s3://${await newBucket(s3Client())}/db`;
    const environment = cloudEnvironment();
    const expected = await buildFleet(root, environment, ['sessions', 'orders']);
    const { code, stdout, stderr } = await lanceUpkeep(['run', root, '--json'], environment);
    const report = JSON.parse(stdout);

    expect({ code, stderr: stderr.includes('error') }).toEqual({ code: 0, stderr: false });
    expect(report.tasks.every(({ state }: { state: string }) => state === 'done')).toBe(true);
    expect(
      report.tables.map(({ target, keyIndex }: { target: string; keyIndex: unknown }) => [target, keyIndex]),
    ).toEqual([
      [`${root}/orders.lance`, expect.objectContaining({ kind: 'BTree', unindexedRows: 0 })],
      [`${root}/sessions.lance`, expect.objectContaining({ kind: 'BTree', unindexedRows: 0 })],
    ]);
    expect(await misread(root, environment, expected)).toEqual([]);
  });
});
