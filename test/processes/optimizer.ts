import { existsSync } from 'node:fs';
import { setTimeout as elapse } from 'node:timers/promises';
import { openAnew } from '../fixtures/search-table.ts';
import { isConflict } from '../fixtures/searched-rows.ts';

/**
 * A stranger that runs optimize() on a table again and again, as users do from a cron job, and minds no conflict.
 * Arguments: target, milliseconds between two, file whose existence ends the loop. Prints {optimized, conflicts, error}.
 */
const [target, everyMs, stopFile] = process.argv.slice(2) as [string, string, string];
let optimized = 0;
let conflicts = 0;
let error: string | null = null;
while (!existsSync(stopFile) && error === null) {
  await elapse(Number(everyMs));
  const table = await openAnew(target);
  try {
    await table.optimize();
    optimized += 1;
  } catch (thrown) {
    if (isConflict(thrown)) conflicts += 1;
    else error = String(thrown);
  }
  table.close();
}
process.stdout.write(`${JSON.stringify({ optimized, conflicts, error })}\n`);
