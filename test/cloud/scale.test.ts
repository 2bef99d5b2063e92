import { BatchWriteItemCommand, type WriteRequest } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeItem } from '../../src/aws/dynamo-attributes.ts';
import { createDynamoLedger } from '../../src/aws/dynamo-ledger.ts';
import type { Lifecycle } from '../../src/tasks/api.ts';
import { newTaskItem } from '../../src/tasks/items.ts';
import { createLifecycle } from '../../src/tasks/lifecycle.ts';
import type { Item } from '../../src/tasks/ports.ts';
import { systemClock } from '../../src/tasks/system-clock.ts';
import type { Task } from '../../src/tasks/task.ts';
import { SETTINGS } from '../contract/settings.ts';
import { dynamoDbClient } from '../fixtures/cloud.ts';
import { createLedgerTable } from '../fixtures/dynamo-ledger-world.ts';
import { FaultClient } from '../fixtures/fault-client.ts';

const QUEUED = 1_500;
const RUNNING = 200;
const FINISHED = 1_000;
const START = Date.UTC(2026, 0, 1);

function item(id: string, at: number, change: Record<string, string | number>): Item {
  const task: Task = {
    id,
    target: `s3://bucket/db/${id}.lance`,
    createdAt: at,
    kind: 'Compact',
    state: 'queued',
    reasons: [],
    reasonCount: 0,
    dependsOn: [],
    pendingDependencies: [],
    rank: 0,
    force: false,
    attempts: 0,
    failures: 0,
  };
  const { attributes, ...key } = newTaskItem(task, at);
  return { ...key, attributes: { ...attributes, ...change } };
}

/** The items of tasks that are no longer queued have no entry in that index. */
function ended({ attributes, ...key }: Item): Item {
  const { queuedShard: _shard, wakeAt: _at, ...rest } = attributes;
  return { ...key, attributes: rest };
}

describe('the DynamoDB ledger with many tasks', () => {
  let faulty: FaultClient;
  let lifecycle: Lifecycle;
  let table: string;
  let ids = 0;

  async function load(items: readonly Item[]): Promise<void> {
    const client = dynamoDbClient();
    const batches: WriteRequest[][] = [];
    for (let at = 0; at < items.length; at += 25) {
      batches.push(items.slice(at, at + 25).map((one) => ({ PutRequest: { Item: encodeItem(one) } })));
    }
    const worker = async () => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: batch } }));
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }

  beforeAll(async () => {
    const client = dynamoDbClient();
    table = await createLedgerTable(client);
    faulty = new FaultClient(client);
    lifecycle = createLifecycle({
      ledger: createDynamoLedger({ client: faulty.client, table }),
      queue: { send: async () => undefined, deadLetter: async () => undefined, visible: async () => 0 },
      clock: systemClock,
      settings: SETTINGS,
      random: Math.random,
      newId: () => {
        ids += 1;
        return `${process.pid}-${Date.now()}-${ids}`;
      },
    });
  });

  /** Which calls of DynamoDB the work took. */
  async function calls(work: () => Promise<unknown>): Promise<string[]> {
    faulty.calls.length = 0;
    await work();
    return faulty.names();
  }

  it('takes the same calls for an admission and a claim, whether 1,700 other tasks are there or none', async () => {
    const admit = (id: string) =>
      calls(() => lifecycle.admit({ taskId: id, kind: 'Compact', target: `s3://bucket/db/${id}.lance` }));
    const claim = (id: string) => calls(() => lifecycle.claim({ taskId: id, claimId: `claim-${id}`, holder: 'here' }));
    const empty = [await admit('first'), await claim('first')];
    await load(Array.from({ length: QUEUED }, (_, n) => item(`queued-${n}`, START + n, {})));
    await load(
      Array.from({ length: RUNNING }, (_, n) =>
        ended(item(`running-${n}`, START + n, { state: 'running', attempts: 1 })),
      ),
    );

    expect([await admit('last'), await claim('last')]).toEqual(empty);
    expect(empty[1]?.length).toBeLessThanOrEqual(4);
  });

  it('reads one page of a long history at the same cost at its beginning, in its middle and at its end', async () => {
    const done = { state: 'done', endedAt: START, removeAfter: 4_000_000_000 };
    await load(
      Array.from({ length: FINISHED }, (_, n) =>
        ended(item(`done-${String(n).padStart(6, '0')}`, START + 60_000 + n, done)),
      ),
    );
    const cost = async (after?: string) => {
      let seen: string[] = [];
      const names = await calls(async () => {
        const page = await lifecycle.listTasks({ limit: 50, ...(after === undefined ? {} : { after }) });
        seen = page.tasks.map(({ id }) => id);
      });
      return { names: names.toSorted(), seen };
    };
    const cursor = (n: number) => `${String(START + 60_000 + n).padStart(15, '0')}#done-${String(n).padStart(6, '0')}`;
    const [first, middle, last] = [await cost(), await cost(cursor(FINISHED / 2)), await cost(cursor(50))];

    expect([first.seen.length, middle.seen.length, last.seen.length]).toEqual([50, 50, 50]);
    expect(middle.seen[0]).toBe(`done-${String(FINISHED / 2 - 1).padStart(6, '0')}`);
    expect(middle.names).toEqual(first.names);
    expect(last.names).toEqual(first.names);
    expect(first.names.length).toBeLessThanOrEqual(9);
  });
});
