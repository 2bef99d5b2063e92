import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createS3ObjectStore } from '../../src/storage/s3-object-store.ts';
import { TASK_KINDS } from '../../src/tasks/task.ts';
import { OWNER_KEY } from '../../src/upkeep/root-owner.ts';
import { s3Client, sqsClient } from '../fixtures/cloud.ts';
import { type CloudStack, createCloudStack } from '../fixtures/cloud-stack.ts';
import { EventSources } from '../fixtures/event-sources.ts';
import { connectTo } from '../fixtures/fleet-on-s3.ts';
import { type Handlers, loadHandlers } from '../fixtures/handlers.ts';
import { buildWaitingTables, MERGED_ROWS } from '../infra/fixtures/waiting-tables.ts';

const STORES = 6;
const SETTINGS = { MERGE_WAL_MIN_GENERATIONS: '1' };

interface Deployed {
  readonly handlers: Handlers;
  readonly sources: EventSources;
  /** URL of the merges' queue. */
  readonly queue: string;
}

async function deploy(stack: CloudStack, root: string): Promise<Deployed> {
  const placed = { ...stack, root, environment: { ...stack.environment, UPKEEP_ROOTS: root } };
  const handlers = await loadHandlers(placed);
  const queues = Object.fromEntries(TASK_KINDS.map((kind) => [kind, [handlers.queues[kind]]])) as never;
  const sources = new EventSources({ stack: placed, queues, stream: [handlers.stream] });
  return { handlers, sources, queue: stack.names.queues.MergeWal.url };
}

/** One sweep, and everything that follows from it; the code with which it was refused. */
async function maintain({ handlers, sources }: Deployed): Promise<string> {
  try {
    await handlers.sweep('all');
  } catch (error) {
    return (error as { code: string }).code;
  }
  await sources.drain();
  return 'maintained';
}

/** Asks for a merge as any SQS client can. */
async function sendMerge({ queue }: Deployed, target: string): Promise<void> {
  const MessageBody = JSON.stringify({ kind: 'MergeWal', target, taskId: 'by-hand' });
  await sqsClient().send(new SendMessageCommand({ QueueUrl: queue, MessageBody, MessageGroupId: 'test' }));
}

/** Tables whose rows or keys are not exactly those of one merge. */
async function doubled(root: string, stack: CloudStack): Promise<string[]> {
  const connection = await connectTo(root, stack.environment);
  const wrong: string[] = [];
  for (const name of await connection.tableNames()) {
    const table = await connection.openTable(name);
    const all = (await table.query().toArray()) as { id: string }[];
    const base = (await table.query().useLsm(false).toArray()) as { id: string }[];
    const keys = (rows: { id: string }[]) => new Set(rows.map(({ id }) => id)).size;
    if (all.length !== MERGED_ROWS || keys(all) !== MERGED_ROWS) wrong.push(`${name}: ${all.length} rows`);
    if (keys(base) !== base.length) wrong.push(`${name}, base: ${base.length} rows, ${keys(base)} keys`);
  }
  connection.close();
  return wrong;
}

describe.each([
  ['the same root', 'db', 'db'],
  ['a root and one inside of it', '', 'db'],
  ['a root and one two folders deeper', '', 'db/team'],
])('two stacks on %s, at the same time', (_what, first, second) => {
  let stack: CloudStack;
  let both: readonly Deployed[];
  let tables: string;

  beforeAll(async () => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    stack = await createCloudStack(SETTINGS);
    const other = await createCloudStack(SETTINGS);
    const at = (path: string) => (path === '' ? `s3://${stack.bucket}` : `s3://${stack.bucket}/${path}`);
    tables = at(second);
    await buildWaitingTables(tables, STORES);
    both = [await deploy(stack, at(first)), await deploy(other, at(second))];
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('merge under one of them at most, and nothing is doubled', async () => {
    const outcomes = await Promise.all(both.map(maintain));

    expect(outcomes.filter((outcome) => outcome === 'maintained').length).toBeLessThanOrEqual(1);
    expect(outcomes.every((outcome) => ['maintained', 'ROOT_OWNED'].includes(outcome))).toBe(true);
    expect(await doubled(tables, stack)).toEqual([]);
  });

  it('are one owner and one stranger from then on: the stranger’s sweep and queues do nothing', async () => {
    const [one, two] = both as [Deployed, Deployed];
    const earlier = await maintain(one);
    const later = await maintain(two);
    const stranger = later === 'ROOT_OWNED' ? two : one;
    await sendMerge(stranger, `${tables}/waiting-00.lance`);
    await Promise.all(both.map(({ sources }) => sources.drain()));

    expect([earlier, later].toSorted()).toEqual(['ROOT_OWNED', 'maintained']);
    expect(stranger.sources.returned).toBe(1);
    expect(await doubled(tables, stack)).toEqual([]);
  });
});

describe('a stack around the root of another one', () => {
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('is refused when it comes second, and the other one goes on', async () => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const [stack, other] = [await createCloudStack(SETTINGS), await createCloudStack(SETTINGS)];
    const tables = `s3://${stack.bucket}/db`;
    await buildWaitingTables(tables, 1);
    const [inner, outer] = [await deploy(stack, tables), await deploy(other, `s3://${stack.bucket}`)];

    expect(await maintain(inner)).toBe('maintained');
    expect(await maintain(outer)).toBe('ROOT_OWNED');
    expect(await maintain(inner)).toBe('maintained');
    expect(await doubled(tables, stack)).toEqual([]);
  });
});

describe('a stack whose root another one took over', () => {
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('begins nothing more from the sweep on that finds the other one’s marker', async () => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const [stack, other] = [await createCloudStack(SETTINGS), await createCloudStack(SETTINGS)];
    const root = `s3://${stack.bucket}/db`;
    await buildWaitingTables(root, 1);
    const [first, second] = [await deploy(stack, root), await deploy(other, root)];
    expect(await maintain(first)).toBe('maintained');
    await createS3ObjectStore({ client: s3Client(), uri: root }).delete(OWNER_KEY);
    expect(await maintain(second)).toBe('maintained');

    expect(await maintain(first)).toBe('ROOT_OWNED');
    await sendMerge(first, `${root}/waiting-00.lance`);
    await first.sources.drain();

    expect(first.sources.returned).toBe(1);
    expect(await doubled(root, stack)).toEqual([]);
  });
});
