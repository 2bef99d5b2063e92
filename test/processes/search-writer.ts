import { setTimeout as elapse } from 'node:timers/promises';
import type { Table } from '@lancedb/lancedb';
import { openAnew, searchRow, searchRows } from '../fixtures/search-table.ts';
import {
  DELETED,
  FIRST_APPENDED,
  FIRST_INSERTED,
  isConflict,
  keepWritten,
  seedsAtFirst,
  UPSERTED,
} from '../fixtures/searched-rows.ts';
import { upsert } from '../fixtures/tables.ts';

/**
 * The one writer of a searched table: upserts (through the MemWAL where there is one), appends and deletes, again and again.
 * Arguments: target, milliseconds to run, file that always holds what was written. Prints {steps, conflicts, error} at its end.
 */
const PACE_MS = 200;
const CHANGE_EVERY = 5;
const [target, runMs, file] = process.argv.slice(2) as [string, string, string];
const settled = seedsAtFirst();
const end = Date.now() + Number(runMs);
let table = await openAnew(target);
let steps = 0;
let conflicts = 0;
let error: string | null = null;

async function write(writing: Record<string, number | null>, run: (table: Table) => Promise<unknown>): Promise<void> {
  keepWritten(file, { settled, writing });
  for (;;) {
    try {
      await run(table);
      break;
    } catch (thrown) {
      if (!isConflict(thrown)) throw thrown;
      conflicts += 1;
      table = await openAnew(target);
    }
  }
  Object.assign(settled, writing);
  keepWritten(file, { settled, writing: {} });
}

async function append(step: number): Promise<void> {
  const first = FIRST_APPENDED + step * 5;
  const numbers = Array.from({ length: 5 }, (_, at) => first + at);
  await write(Object.fromEntries(numbers.map((number) => [String(number), number])), (handle) =>
    handle.add(searchRows(first, first + 5) as never),
  );
}

async function change(round: number): Promise<void> {
  const known = Array.from(
    { length: 3 },
    (_, at) => UPSERTED.from + ((round * 3 + at) % (UPSERTED.to - UPSERTED.from)),
  );
  const changed = [...known, FIRST_INSERTED + round].map((number, at) => ({ number, seed: 200_000 + round * 4 + at }));
  await write(Object.fromEntries(changed.map(({ number, seed }) => [String(number), seed])), async (handle) => {
    await upsert(handle).execute(changed.map(({ number, seed }) => searchRow(number, seed)) as never);
    await handle.closeLsmWriters();
  });
  const gone = DELETED.from + round;
  await write({ [String(gone)]: null }, (handle) => handle.delete(`id = '${searchRow(gone).id}'`));
}

try {
  for (; Date.now() < end; steps += 1) {
    await append(steps);
    if (steps % CHANGE_EVERY === 0) await change(steps / CHANGE_EVERY);
    await elapse(PACE_MS);
  }
} catch (thrown) {
  error = String(thrown);
}
process.stdout.write(`${JSON.stringify({ steps, conflicts, error })}\n`);
