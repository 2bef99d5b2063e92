import { describe } from 'vitest';
import { describeFacts } from '../contract/facts-suite.ts';
import { describeLedgerPort } from '../contract/ledger-port-suite.ts';
import { describePause } from '../contract/pause-suite.ts';
import { describeRecover } from '../contract/recover-suite.ts';
import { describeWorker } from '../contract/worker-suite.ts';
import { makeDynamoLedger } from '../fixtures/dynamo-ledger-world.ts';

/**
 * The ledger's contract on DynamoDB. Admission, claims, settlement and stream are in dynamo-ledger-hostile.test.ts: the same tests
 * with faults. On SQLite alone run the suites of days and of 100,000 tasks (their scale is in scale.test.ts
 * here), the random histories, and the attempt's, which is about one process and its clock and not about the ledger.
 */
describe('the DynamoDB ledger', () => {
  const make = makeDynamoLedger();
  describeLedgerPort(make);
  describeRecover(make, {});
  describeWorker(make, {});
  describeFacts(make, {});
  describePause(make, {});
});
