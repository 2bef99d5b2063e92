import type { Key } from './winners.ts';

/** A column name as LanceDB's SQL takes it: backticks keep upper case, spaces and dots. */
export function sqlName(column: string): string {
  return `\`${column.replaceAll('`', '``')}\``;
}

/** A key as an SQL literal. */
export function sqlLiteral(key: Key): string {
  // The parser reads a minus and then a number, and the magnitude of the least int64 is no int64.
  if (key === -(2n ** 63n)) return "CAST('-9223372036854775808' AS BIGINT)";
  return typeof key === 'string' ? `'${key.replaceAll("'", "''")}'` : String(key);
}

/** `key IN (…)` predicates that together name all keys, at most `size` keys each. */
export function* keyPredicates(column: string, keys: readonly Key[], size: number): Generator<string> {
  for (let start = 0; start < keys.length; start += size) {
    const literals = keys.slice(start, start + size).map(sqlLiteral);
    yield `${sqlName(column)} IN (${literals.join(', ')})`;
  }
}
