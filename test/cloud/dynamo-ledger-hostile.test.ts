import { describe } from 'vitest';
import { describeClaim } from '../contract/claim-suite.ts';
import { HOSTILE } from '../contract/describe-ledger-contract.ts';
import { describeSettle } from '../contract/settle-suite.ts';
import { makeDynamoLedger } from '../fixtures/dynamo-ledger-world.ts';

/** Lost replies, repeated tokens, stale reads and conflicts where they matter most: at the two transactions of a lease. */
describe('the DynamoDB ledger, hostile:', () => {
  const make = makeDynamoLedger();
  describeClaim(make, HOSTILE);
  describeSettle(make, HOSTILE);
});
