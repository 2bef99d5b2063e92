/** 1234567 -> `1,234,567`, the same in every locale. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** Milliseconds as `850 ms`, `12.3 s` or `4 min 10 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `before -> after`, or the value once when nothing changed. */
export function formatChange(before: string | undefined, after: string): string {
  return before === undefined || before === after ? after : `${before} -> ${after}`;
}

/** How a table is called in tables: its folder's name without `.lance`. */
export function tableName(target: string): string {
  return target.slice(target.lastIndexOf('/') + 1).replace(/\.lance$/, '');
}

/** Short names where they are unique among the targets, whole targets where they are not. */
export function tableNames(targets: readonly string[]): Map<string, string> {
  const distinct = [...new Set(targets)];
  const uses = new Map<string, number>();
  for (const target of distinct) uses.set(tableName(target), (uses.get(tableName(target)) ?? 0) + 1);
  return new Map(distinct.map((target) => [target, uses.get(tableName(target)) === 1 ? tableName(target) : target]));
}
