import { describe } from 'vitest';
import { describeAdmit } from './admit-suite.ts';
import { describeAttempt } from './attempt-suite.ts';
import { describeClaim } from './claim-suite.ts';
import { describeFacts } from './facts-suite.ts';
import { describeLedgerPort } from './ledger-port-suite.ts';
import type { MakeLedger, WorldOptions } from './ledger-world.ts';
import { describePause } from './pause-suite.ts';
import { describeRandom } from './random-suite.ts';
import { describeRecover, describeWakeSteps } from './recover-suite.ts';
import { describeScale } from './scale-suite.ts';
import { describeSettle } from './settle-suite.ts';
import { describeStream } from './stream-suite.ts';
import { describeWorker } from './worker-suite.ts';

/** Everything but dropped records: those cost minutes until recover, which has its own tests and the random ones. */
export const HOSTILE: WorldOptions = {
  hostility: { failed: 0.1, lost: 0.1, stale: 0.3, doubled: 0.2, late: 0.3 },
};

/** Every rule of docs/ledger.md on one ledger: on its own, and behind a wrapper that does its worst. */
export function describeLedgerContract(name: string, make: MakeLedger): void {
  describe(`${name}`, () => {
    describeLedgerPort(make);
    describeScale(make);
    describeRandom(make);
  });
  for (const [mood, options] of [
    ['calm', {}],
    ['hostile', HOSTILE],
  ] as const) {
    describe(`${name}, ${mood}:`, () => {
      describeAdmit(make, options);
      describeClaim(make, options);
      describeSettle(make, options);
      describeStream(make, options);
      describeRecover(make, options);
      describeWakeSteps(make, options);
      describeWorker(make, options);
      describeAttempt(make, options);
      describeFacts(make, options);
      describePause(make, options);
    });
  }
}
