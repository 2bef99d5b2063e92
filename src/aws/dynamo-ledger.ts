import { setTimeout as sleep } from 'node:timers/promises';
import {
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  type QueryCommandInput,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { jitteredWait } from '../backoff.ts';
import { assertKeys, assertWrites, nameOfKey } from '../tasks/ledger-requests.ts';
import type { IndexQuery, Item, ItemKey, Ledger, Page, TransactResult } from '../tasks/ports.ts';
import { INDEXES } from '../tasks/ports.ts';
import { type DynamoItem, decodeItem, encodeKey, encodeValue } from './dynamo-attributes.ts';
import { failureOf, ledgerError } from './dynamo-errors.ts';
import { transactItem } from './dynamo-expressions.ts';

export interface DynamoLedgerOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly random?: () => number;
  /** How often a call is tried against conflicts, throttling and silence. Default 10. */
  readonly tries?: number;
  /** The first wait in milliseconds; it doubles, with full jitter. Default 25. */
  readonly firstWaitMs?: number;
}

const LONGEST_WAIT_MS = 2_000;

/**
 * The ledger in one DynamoDB table (dynamo-table.ts describes it). Conflicts between transactions, throttling and lost answers
 * are retried here with jitter and the same client token, so a write is never applied twice.
 * Errors: LEDGER_UNAVAILABLE (contention), LEDGER_REFUSED (failure), LEDGER_REQUEST_INVALID (permanent).
 */
export function createDynamoLedger(options: DynamoLedgerOptions): Ledger {
  const { client, table } = options;
  const random = options.random ?? Math.random;
  const tries = options.tries ?? 10;
  const firstWaitMs = options.firstWaitMs ?? 25;

  function pause(attempt: number): Promise<void> {
    return sleep(jitteredWait(random, attempt, { firstMs: firstWaitMs, longestMs: LONGEST_WAIT_MS }));
  }

  async function repeated<T>(call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'invalid' || failure === 'refused' || attempt >= tries) throw ledgerError(error);
      }
      await pause(attempt);
    }
  }

  async function readBatch(keys: readonly ItemKey[]): Promise<ReadonlyMap<string, Item>> {
    const found = new Map<string, Item>();
    let left: DynamoItem[] = keys.map(encodeKey);
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const request = new BatchGetItemCommand({ RequestItems: { [table]: { Keys: left, ConsistentRead: true } } });
      const answer = await repeated(() => client.send(request));
      for (const item of (answer.Responses?.[table] ?? []).map(decodeItem)) found.set(nameOfKey(item), item);
      left = answer.UnprocessedKeys?.[table]?.Keys ?? [];
      if (left.length === 0) break;
      // A throttled DynamoDB answers only a part of the batch.
      if (attempt >= tries)
        throw ledgerError(Object.assign(new Error('a batch was left unread'), { name: 'ThrottlingException' }));
      await pause(attempt);
    }
    return found;
  }

  /** Pages of DynamoDB end at 1 MB, so one query may take several calls. */
  async function readUpTo(limit: number, input: QueryCommandInput): Promise<readonly Item[]> {
    const items: Item[] = [];
    let from = input.ExclusiveStartKey;
    do {
      const request = new QueryCommand({
        ...input,
        TableName: table,
        Limit: limit - items.length,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const answer = await repeated(() => client.send(request));
      items.push(...(answer.Items ?? []).map(decodeItem));
      from = answer.LastEvaluatedKey;
    } while (from !== undefined && items.length < limit);
    return items;
  }

  async function writeOnce(request: TransactWriteItemsCommand): Promise<TransactResult> {
    try {
      await client.send(request);
      return { written: true };
    } catch (error) {
      const refused = refusedWrites(error);
      if (refused.length > 0) return { written: false, refused };
      throw error;
    }
  }

  return {
    async get(key) {
      const request = new GetItemCommand({ TableName: table, Key: encodeKey(key), ConsistentRead: true });
      const { Item: item } = await repeated(() => client.send(request));
      return item && decodeItem(item);
    },
    async getMany(keys) {
      assertKeys(keys);
      const distinct = [...new Map(keys.map((key) => [nameOfKey(key), key])).values()];
      const found = await readBatch(distinct);
      return keys.map((key) => found.get(nameOfKey(key)));
    },
    async query({ pk, skPrefix, limit, after, order = 'ascending' }): Promise<Page<Item>> {
      const begins = skPrefix === '' ? '' : ' AND begins_with(sk, :prefix)';
      const found = await readUpTo(limit + 1, {
        TableName: table,
        ConsistentRead: true,
        KeyConditionExpression: `pk = :pk${begins}`,
        ExpressionAttributeValues: { ':pk': { S: pk }, ...(skPrefix === '' ? {} : { ':prefix': { S: skPrefix } }) },
        ScanIndexForward: order === 'ascending',
        ...(after ? { ExclusiveStartKey: encodeKey({ pk, sk: after }) } : {}),
      });
      const items = found.slice(0, limit);
      const last = items.at(-1);
      return found.length > limit && last ? { items, next: last.sk } : { items };
    },
    async queryIndex(query) {
      const beyond = query.before;
      const found = await readUpTo(query.limit + (beyond === undefined ? 0 : 1), indexRequest(query, table));
      // DynamoDB has no exclusive bound next to another bound. One more value is read and dropped.
      const { sort } = INDEXES[query.index];
      const inside = beyond === undefined ? found : found.filter((item) => String(item.attributes[sort]) < beyond);
      return inside.slice(0, query.limit);
    },
    async transact(writes, { clientToken }) {
      assertWrites(writes);
      if (writes.length === 0) return { written: true };
      const TransactItems = writes.map((write) => transactItem(write, table));
      const request = new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: clientToken });
      return repeated(() => writeOnce(request));
    },
  };
}

/** The writes whose condition was false, even when another write of the transaction met a conflict. */
function refusedWrites(error: unknown): { index: number; old: Item | undefined }[] {
  if (!(error instanceof TransactionCanceledException)) return [];
  return (error.CancellationReasons ?? []).flatMap(({ Code, Item: old }, index) => {
    if (Code !== 'ConditionalCheckFailed') return [];
    return [{ index, old: old && Object.keys(old).length > 0 ? decodeItem(old) : undefined }];
  });
}

function indexRequest(query: IndexQuery, TableName: string): QueryCommandInput {
  const { partition, sort } = INDEXES[query.index];
  const to = query.to ?? query.before;
  const values: DynamoItem = { ':partition': { S: query.partition } };
  if (query.from !== undefined) values[':from'] = encodeValue(query.from);
  if (to !== undefined) values[':to'] = encodeValue(to);
  const range =
    query.from !== undefined && to !== undefined
      ? ' AND #sort BETWEEN :from AND :to'
      : query.from !== undefined
        ? ' AND #sort >= :from'
        : to !== undefined
          ? ' AND #sort <= :to'
          : '';
  return {
    TableName,
    IndexName: query.index,
    KeyConditionExpression: `#partition = :partition${range}`,
    ExpressionAttributeNames: { '#partition': partition, ...(range === '' ? {} : { '#sort': sort }) },
    ExpressionAttributeValues: values,
    ScanIndexForward: query.order === 'ascending',
  };
}
