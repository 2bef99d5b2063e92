import type { Table } from '@lancedb/lancedb';
import type { SearchedRow } from './content.ts';

/** Partitions of each vector index. All of them are searched, so that an answer is exact. */
export const PARTITIONS = 4;
const NEAREST = 5;
const WORDS = ['amber', 'jetty'];

/** A question that people put to a table, and the one right answer: ids in alphabetical order. */
export type Search = (
  | { readonly kind: 'vector'; readonly vector: readonly number[] }
  | { readonly kind: 'words'; readonly words: string }
) & { readonly ids: readonly string[] };

/** How many of the questions are answered rightly. Each is put twice: as it is, and as a fast search, which asks the index alone. */
export interface SearchCheck {
  readonly asked: number;
  readonly right: number;
}

/** The nearest of the first row and of the last one, and all rows with some words, found by looking at every row. */
export function searchesOf(rows: readonly SearchedRow[]): readonly Search[] {
  const ends = [rows[0], rows.at(-1)].flatMap((row) => row ?? []);
  const nearest = ends.map(({ vector }): Search => {
    const byDistance = [...rows].sort((a, b) => distance(a.vector, vector) - distance(b.vector, vector));
    return { kind: 'vector', vector, ids: idsOf(byDistance.slice(0, NEAREST)) };
  });
  const worded = WORDS.map((words): Search => {
    const found = rows.filter(({ note }) => note?.split(' ').includes(words));
    return { kind: 'words', words, ids: idsOf(found) };
  });
  return [...nearest, ...worded];
}

/** Puts every question to the table. */
export async function checkSearches(table: Table, searches: readonly Search[]): Promise<SearchCheck> {
  let right = 0;
  for (const search of searches) {
    for (const fast of [false, true]) {
      const ids = await answer(table, search, fast);
      if (String(ids) === String(search.ids)) right += 1;
    }
  }
  return { asked: searches.length * 2, right };
}

async function answer(table: Table, search: Search, fast: boolean): Promise<string[]> {
  const query =
    search.kind === 'vector'
      ? table
          .vectorSearch([...search.vector])
          .nprobes(PARTITIONS)
          .limit(NEAREST)
      : table
          .query()
          .fullTextSearch(search.words, { columns: ['note'] })
          .limit(search.ids.length + 1);
  return idsOf(await (fast ? query.fastSearch() : query).toArray());
}

function idsOf(rows: readonly { readonly id?: unknown }[]): string[] {
  return rows.map(({ id }) => String(id)).sort();
}

function distance(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + (value - (right[at] ?? 0)) ** 2, 0);
}
