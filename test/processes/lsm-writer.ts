import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from '@lancedb/lancedb';
import { flushGeneration, type PlainRow, row } from '../fixtures/tables.ts';

/**
 * A writer as users run one: upserts through the MemWAL and closes a generation, again and again, on one handle.
 * Arguments: database, table, keys, a file that always holds what has been flushed so far, and one whose existence ends the loop.
 * Tells each generation on stderr, and prints one JSON line at its end: {generations, error}.
 */
const [database, name, keys, flushedFile, stopFile] = process.argv.slice(2) as [string, string, string, string, string];
const table = await (await connect(database)).openTable(name);
const flushed: Record<string, number> = {};
let generations = 0;
let error: string | null = null;
// A small generator of its own, so that a run can be repeated.
let state = 12345;
function next(below: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return state % below;
}
try {
  for (let n = 1; !existsSync(stopFile); n += 1) {
    const chosen = new Map<string, PlainRow>();
    for (let index = 0; index < 20; index += 1) {
      const r = row(next(Number(keys)), n);
      chosen.set(r.id, r);
    }
    await flushGeneration(table, [...chosen.values()]);
    for (const r of chosen.values()) flushed[r.id] = n;
    generations += 1;
    process.stderr.write(`generation ${n}\n`);
    writeFileSync(`${flushedFile}.part`, JSON.stringify(flushed));
    renameSync(`${flushedFile}.part`, flushedFile);
  }
} catch (thrown) {
  error = String(thrown);
}
process.stdout.write(`${JSON.stringify({ generations, error })}\n`);
