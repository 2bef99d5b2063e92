import { describe } from 'vitest';
import { describeAdmit } from '../contract/admit-suite.ts';
import { describeClaim } from '../contract/claim-suite.ts';
import { describeFacts } from '../contract/facts-suite.ts';
import { describeLedgerPort } from '../contract/ledger-port-suite.ts';
import { describePause } from '../contract/pause-suite.ts';
import { describeRecover } from '../contract/recover-suite.ts';
import { describeSettle } from '../contract/settle-suite.ts';
import { describeStream } from '../contract/stream-suite.ts';
import { describeWorker } from '../contract/worker-suite.ts';
import { makeDynamoLedger } from '../fixtures/dynamo-ledger-world.ts';

/**
 * The ledger's contract on DynamoDB. On SQLite alone run the suites of days and of 100,000 tasks (their scale is in scale.test.ts
 * here), the random histories, and the attempt's, which is about one process and its clock and not about the ledger.
 */
describe('the DynamoDB ledger', () => {
  const make = makeDynamoLedger();
  describeLedgerPort(make);
  describeAdmit(make, {});
  describeClaim(make, {});
  describeSettle(make, {});
  describeStream(make, {});
  describeRecover(make, {});
  describeWorker(make, {});
  describeFacts(make, {});
  describePause(make, {});
});
