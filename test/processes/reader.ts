import { existsSync, readFileSync } from 'node:fs';
import { readRows, row } from '../fixtures/tables.ts';

/**
 * A reader as users run one: opens the table afresh, reads all rows through the LSM path and checks every one.
 * Arguments: target, file with what was flushed before the read began, file whose existence ends the loop.
 * Tells each read on stderr, and prints one JSON line at its end: {reads, wrong: [...]}.
 */
const [target, flushedFile, stopFile] = process.argv.slice(2) as [string, string, string];
const wrong: string[] = [];
const last = new Map<string, number>();
let reads = 0;
while (!existsSync(stopFile) && wrong.length < 20) {
  const flushed: Record<string, number> = existsSync(flushedFile) ? JSON.parse(readFileSync(flushedFile, 'utf8')) : {};
  try {
    const seen = await readRows(target, { lsm: true });
    for (const [id, value] of seen) check(id, Number(value.n), String(value.payload));
    for (const [id, n] of Object.entries(flushed)) {
      const found = seen.get(id);
      if (found === undefined) wrong.push(`${id} was flushed with ${n} and is not there`);
      else if (Number(found.n) < n) wrong.push(`${id} was flushed with ${n} and reads ${found.n}`);
    }
    for (const id of last.keys()) if (!seen.has(id)) wrong.push(`${id} was there before and is gone`);
  } catch (error) {
    wrong.push(`the read failed: ${error}`);
  }
  reads += 1;
  process.stderr.write(`read ${reads}\n`);
}
process.stdout.write(`${JSON.stringify({ reads, wrong })}\n`);

function check(id: string, n: number, payload: string): void {
  if (id.includes('#')) wrong.push(`${id.split('#')[0]} is there twice`);
  if (n < (last.get(id) ?? 0)) wrong.push(`${id} went back from ${last.get(id)} to ${n}`);
  if (payload !== row(Number(id.slice(4).split('#')[0]), n).payload) wrong.push(`${id} mixes two writes: ${payload}`);
  last.set(id, n);
}
