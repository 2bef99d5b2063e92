import { describe } from 'vitest';
import { describeAdmit } from '../contract/admit-suite.ts';
import { describeClaim } from '../contract/claim-suite.ts';
import { describeFacts } from '../contract/facts-suite.ts';
import { describeLedgerPort } from '../contract/ledger-port-suite.ts';
import { describeRecover } from '../contract/recover-suite.ts';
import { describeSettle } from '../contract/settle-suite.ts';
import { describeStream } from '../contract/stream-suite.ts';
import { makeDynamoLedger } from '../fixtures/dynamo-ledger-world.ts';

/** The ledger's contract on DynamoDB. Its suites of days and of 100,000 tasks run on SQLite; their scale is in scale.test.ts here. */
describe('the DynamoDB ledger', () => {
  const make = makeDynamoLedger();
  describeLedgerPort(make);
  describeAdmit(make, {});
  describeClaim(make, {});
  describeSettle(make, {});
  describeStream(make, {});
  describeRecover(make, {});
  describeFacts(make, {});
});
