import { existsSync } from 'node:fs';
import type { Table } from '@lancedb/lancedb';
import { openAnew, type SearchRow, searchRow, vectorOf } from '../fixtures/search-table.ts';
import { readWritten, type Seeds, UNTOUCHED, type Written } from '../fixtures/searched-rows.ts';

/**
 * A reader of a searched table: opens it afresh and asks for rows that nobody touches, which every index covers, in every way
 * there is; and for rows that are just being written, in the ways that need no index.
 * Arguments: target, `base` or `lsm`, file with what was written, file whose existence ends the loop. Prints {reads, wrong}.
 */
const [target, way, file, stopFile] = process.argv.slice(2) as [string, 'base' | 'lsm', string, string];
const wrong: string[] = [];
let reads = 0;
for (; !existsSync(stopFile) && wrong.length < 20; reads += 1) {
  try {
    const before = readWritten(file);
    const numbers = chosen(before);
    const table = await openAnew(target);
    await assertUntouched(table, UNTOUCHED.from + ((reads * 37) % (UNTOUCHED.to - UNTOUCHED.from)));
    const seen = await lookUp(table, numbers);
    const found = way === 'base' ? await searchEach(table, before, numbers) : [];
    const after = readWritten(file);
    for (const number of numbers) assertLookUp(number, seen.get(number), before, after);
    for (const { number, seed, question, ids } of found) {
      const { id } = searchRow(number);
      if (isUnchanged(number, before, after) && !ids.includes(id))
        wrong.push(`${question} lacks ${id} of seed ${seed}`);
    }
    table.close();
  } catch (error) {
    wrong.push(`a question failed: ${error}`);
  }
}
process.stdout.write(`${JSON.stringify({ reads, wrong })}\n`);

async function assertUntouched(table: Table, number: number): Promise<void> {
  const { id, text } = searchRow(number);
  const vector = vectorOf(number);
  const words = () =>
    table
      .query()
      .fullTextSearch(String(number), { columns: ['text'] })
      .select(['id', 'text']);
  const nearest = () => table.vectorSearch(vector).column('vector').select(['id']).nprobes(100).ef(2000).limit(1);
  const questions: Readonly<Record<string, () => Promise<readonly { id?: unknown }[]>>> = {
    'the key': () => table.query().where(`id = '${id}'`).select(['id', 'text']).toArray(),
    'the words': () => words().toArray(),
    'the words, fast': () => words().fastSearch().toArray(),
    'the nearest': () => nearest().toArray(),
    'the nearest, fast': () => nearest().fastSearch().toArray(),
    'the nearest, base': () => nearest().useLsm(false).toArray(),
  };
  for (const [question, ask] of Object.entries(questions)) {
    const answer = await ask();
    const ids = answer.map((row) => row.id);
    if (ids.length !== 1 || ids[0] !== id) wrong.push(`${question} of ${id} (${text}) answers [${ids}]`);
  }
}

/** The rows that were written last, and two of each kind from before. */
function chosen({ settled, writing }: Written): number[] {
  const numbers = Object.keys(settled).map(Number);
  const some = [450, 550, 601, 900, ...numbers.slice(-6), ...Object.keys(writing).map(Number)];
  return [...new Set(some)];
}

async function lookUp(table: Table, numbers: readonly number[]): Promise<Map<number, SearchRow[]>> {
  const ids = numbers.map((number) => `'${searchRow(number).id}'`).join(', ');
  const rows = (await table.query().where(`id IN (${ids})`).toArray()) as SearchRow[];
  const seen = new Map<number, SearchRow[]>();
  for (const row of rows) {
    const number = Number(row.id.slice(4));
    seen.set(number, [...(seen.get(number) ?? []), row]);
  }
  return seen;
}

function assertLookUp(number: number, rows: readonly SearchRow[] = [], before: Written, after: Written): void {
  if (rows.length > 1) wrong.push(`${rows[0]?.id} is there ${rows.length} times`);
  const key = String(number);
  const allowed = [before.settled, before.writing, after.settled, after.writing]
    .filter((seeds: Seeds) => key in seeds)
    .map((seeds) => seeds[key] ?? null);
  if (!(key in before.settled)) allowed.push(null);
  const [row] = rows;
  const fits = allowed.some((seed) =>
    seed === null ? row === undefined : row !== undefined && isRow(row, searchRow(number, seed)),
  );
  if (!fits) wrong.push(`${searchRow(number).id} reads ${row?.text ?? 'nothing'}, written was one of [${allowed}]`);
}

function isRow(seen: SearchRow, wanted: SearchRow): boolean {
  const same = (left: readonly number[], right: readonly number[]) =>
    String(Array.from(left, Math.fround)) === String(Array.from(right, Math.fround));
  return seen.text === wanted.text && seen.label === wanted.label && same(seen.vector, wanted.vector);
}

interface Found {
  readonly number: number;
  readonly seed: number;
  readonly question: string;
  readonly ids: readonly string[];
}

/** Without `fastSearch()` LanceDB also looks at the rows of a base table that no index covers yet. */
async function searchEach(table: Table, { settled }: Written, numbers: readonly number[]): Promise<Found[]> {
  const found: Found[] = [];
  for (const number of numbers) {
    const seed = settled[String(number)];
    if (seed === null || seed === undefined) continue;
    const nearest = await table
      .vectorSearch(vectorOf(seed))
      .column('vector')
      .select(['id'])
      .nprobes(100)
      .limit(1)
      .toArray();
    const words = await table
      .query()
      .fullTextSearch(String(number), { columns: ['text'] })
      .select(['id'])
      .toArray();
    for (const [question, rows] of Object.entries({ 'the nearest': nearest, 'the words': words })) {
      found.push({ number, seed, question, ids: rows.map(({ id }) => String(id)) });
    }
  }
  return found;
}

function isUnchanged(number: number, before: Written, after: Written): boolean {
  const key = String(number);
  return before.settled[key] === after.settled[key] && !(key in before.writing) && !(key in after.writing);
}
