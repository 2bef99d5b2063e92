import { describe } from 'vitest';
import { describeAdmit } from '../contract/admit-suite.ts';
import { describeClaim } from '../contract/claim-suite.ts';
import { HOSTILE } from '../contract/describe-ledger-contract.ts';
import { describeSettle } from '../contract/settle-suite.ts';
import { describeStream } from '../contract/stream-suite.ts';
import { makeDynamoLedger } from '../fixtures/dynamo-ledger-world.ts';

/** Lost replies, repeated tokens, stale reads, conflicts, doubled and late records. */
describe('the DynamoDB ledger, hostile:', () => {
  const make = makeDynamoLedger();
  describeAdmit(make, HOSTILE);
  describeClaim(make, HOSTILE);
  describeSettle(make, HOSTILE);
  describeStream(make, HOSTILE);
});
