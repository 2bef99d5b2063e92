import { randomUUID } from 'node:crypto';
import { processIdentity } from '../../src/local/process-identity.ts';
import { createSqliteLedger } from '../../src/local/sqlite-ledger.ts';
import { createSqliteQueue } from '../../src/local/sqlite-queue.ts';
import { createLifecycle } from '../../src/tasks/lifecycle.ts';
import { systemClock } from '../../src/tasks/system-clock.ts';
import { SETTINGS } from './settings.ts';

/**
 * A process that works on a shared ledger: `node sqlite-claimer.ts <file> <count> [hold]`. It admits and runs `count`
 * tasks on one target together with whoever else does, and prints one line per finished attempt. With `hold` it prints
 * `held` after its first claim and stays.
 */
const [file = '', count = '0', hold] = process.argv.slice(2);
const ledger = createSqliteLedger({ file, clock: systemClock });
const queue = createSqliteQueue({ file, clock: systemClock });
const lifecycle = createLifecycle({
  ledger,
  queue,
  clock: systemClock,
  settings: SETTINGS,
  random: Math.random,
  newId: () => randomUUID().replaceAll('-', ''),
});

for (let index = 0; index < Number(count); index += 1) {
  const { taskId } = await lifecycle.admit({
    taskId: `${process.pid}-${index}`,
    kind: 'Compact',
    target: '/data/db/shared.lance',
  });
  const claimed = await lifecycle.claim({ taskId, claimId: randomUUID(), holder: processIdentity() });
  if (claimed.outcome !== 'claimed') continue;
  if (hold) {
    process.stdout.write('held\n');
    setInterval(() => {}, 1_000);
    await new Promise(() => {});
  }
  const { token } = claimed.claim;
  await lifecycle.settle(claimed.claim, {
    end: 'done',
    result: {
      rewroteNothing: true,
      versionBefore: 1,
      versionAfter: 1,
      metrics: {},
      proof: {},
      compaction: {
        fragmentsRemoved: 0,
        fragmentsAdded: 0,
        bytesRead: 0,
        bytesWritten: 0,
        durationMs: 0,
        versionBefore: 1,
        versionAfter: 1,
        strategy: 'none',
      },
    },
  });
  process.stdout.write(`${token}\n`);
}
