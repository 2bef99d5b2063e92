import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDynamoLedger } from '../../src/aws/dynamo-ledger.ts';
import type { Ledger, Write } from '../../src/tasks/ports.ts';
import { dynamoDbClient } from '../fixtures/cloud.ts';
import { createLedgerTable } from '../fixtures/dynamo-ledger-world.ts';
import { FaultClient, failing, losingTheAnswer, named } from '../fixtures/fault-client.ts';

const KEY = { pk: 'TABLE#a', sk: 'THING' };

function cancelled(...codes: string[]): TransactionCanceledException {
  return new TransactionCanceledException({
    message: 'Injected.',
    $metadata: {},
    CancellationReasons: codes.map((Code) => ({ Code })),
  });
}

describe('the DynamoDB ledger in trouble', () => {
  let faulty: FaultClient;
  let ledger: Ledger;
  let tokens = 0;

  beforeEach(async () => {
    const client = dynamoDbClient();
    const table = await createLedgerTable(client);
    faulty = new FaultClient(client);
    ledger = createDynamoLedger({ client: faulty.client, table, firstWaitMs: 1, tries: 6 });
  });

  const count = (value: number, when: Write['when'] = []): Write => ({
    kind: 'put',
    item: { ...KEY, attributes: { value } },
    when,
  });
  const write = (...writes: Write[]) => {
    tokens += 1;
    return ledger.transact(writes, { clientToken: `${process.pid}-${Date.now()}-${tokens}` });
  };
  const value = async () => (await ledger.get(KEY))?.attributes.value;
  const tokensSent = () => faulty.calls.map((call) => call.input.ClientRequestToken);

  it.each([
    ['conflicts with other transactions', cancelled('None', 'TransactionConflict')],
    ['a conflict of its own earlier call', named('TransactionInProgressException')],
    ['throttling', named('ThrottlingException')],
    ['throttling of one item', cancelled('ThrottlingError', 'None')],
    ['a server’s error', named('InternalServerError')],
    ['a connection that breaks', named('ECONNRESET')],
  ])('repeats %s under the same client token, and writes once', async (_name, error) => {
    faulty.faults.push(failing(error), failing(error), failing(error));
    expect(await write(count(1, [{ test: 'absent' }]))).toEqual({ written: true });

    expect(faulty.calls).toHaveLength(4);
    expect(new Set(tokensSent()).size).toBe(1);
    expect(await value()).toBe(1);
  });

  it('knows its own write again when the answer was lost, though its condition no longer holds', async () => {
    faulty.faults.push(losingTheAnswer);
    expect(await write(count(1, [{ test: 'absent' }]))).toEqual({ written: true });
    expect(faulty.calls).toHaveLength(2);
    expect(await value()).toBe(1);
  });

  it('calls a write refused when a condition was false, whatever else was in conflict', async () => {
    const error = new TransactionCanceledException({
      message: 'Injected.',
      $metadata: {},
      CancellationReasons: [
        { Code: 'TransactionConflict' },
        { Code: 'ConditionalCheckFailed', Item: { pk: { S: 'p' }, sk: { S: 's' }, held: { BOOL: true } } },
      ],
    });
    faulty.faults.push(failing(error));

    expect(await write(count(1))).toEqual({
      written: false,
      refused: [{ index: 1, old: { pk: 'p', sk: 's', attributes: { held: true } } }],
    });
  });

  it.each([
    ['conflicts that never end', cancelled('TransactionConflict'), 'LEDGER_UNAVAILABLE', 'contention', 6],
    [
      'throttling that never ends',
      named('ProvisionedThroughputExceededException'),
      'LEDGER_UNAVAILABLE',
      'contention',
      6,
    ],
    ['a ledger that is not reached', named('TimeoutError'), 'LEDGER_UNAVAILABLE', 'contention', 6],
    ['missing rights', named('AccessDeniedException'), 'LEDGER_REFUSED', 'failure', 1],
    ['a table that is not there', named('ResourceNotFoundException'), 'LEDGER_REFUSED', 'failure', 1],
    ['a request that is wrong', named('ValidationException'), 'LEDGER_REQUEST_INVALID', 'permanent', 1],
  ])('names %s', async (_name, error, code, disposition, calls) => {
    for (let fault = 0; fault < 6; fault += 1) faulty.faults.push(failing(error));
    await expect(write(count(1))).rejects.toMatchObject({ code, disposition });
    expect(faulty.calls).toHaveLength(calls);
  });

  it('refuses a number that cannot be stored, without a request', async () => {
    await expect(write(count(Number.NaN))).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    expect(faulty.calls).toEqual([]);
  });

  it('asks again for the keys that a throttled batch left out', async () => {
    await write(count(7));
    faulty.faults.push(async (command) => ({ Responses: {}, UnprocessedKeys: command.input.RequestItems }));
    const [found, none] = await ledger.getMany([KEY, { pk: 'TABLE#b', sk: 'THING' }]);

    expect([found?.attributes.value, none]).toEqual([7, undefined]);
  });

  it('reads on over the pages of DynamoDB until it has what was asked for', async () => {
    const wide = 'x'.repeat(300_000);
    for (let sk = 0; sk < 9; sk += 1) {
      await write({ kind: 'put', item: { pk: 'P', sk: `S#${sk}`, attributes: { wide } }, when: [] });
    }
    const page = await ledger.query({ pk: 'P', skPrefix: 'S#', limit: 8 });

    expect(page.items.map(({ sk }) => sk)).toEqual(Array.from({ length: 8 }, (_, sk) => `S#${sk}`));
    expect(page.next).toBe('S#7');
    expect(faulty.names().filter((name) => name === 'QueryCommand').length).toBeGreaterThan(1);
  });
});
