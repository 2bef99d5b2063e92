import { UpkeepError } from '../errors.ts';
import { settingDefinitions } from './setting-definitions.ts';

/** Names that begin like this can only be meant for this product. */
const families = [
  'UPKEEP_',
  'INDEX_AFTER_',
  'INDEX_BEFORE_',
  'INDEX_ID_',
  'OPTIMIZE_INDICES_',
  'INDEX_MAX_',
  'INDEX_TAIL_',
  'MERGE_WAL_',
  'MERGE_MAX_',
  'MERGE_MIN_',
  'MERGE_SLICE_',
  'GENERATION_RETENTION',
  'COMPACT_',
  'COMPACTION_',
  'TARGET_FRAGMENT',
  'MIN_FRAGMENT',
  'MAX_FRAGMENT',
  'VERSION_RETENTION',
  'PRUNE_',
  'TASK_COOLDOWN_',
  'TASK_HISTORY_',
];

/**
 * Refuses a name in the environment that can only be meant for a setting.
 * @throws UpkeepError `SETTING_UNKNOWN` (permanent), with the nearest name.
 */
export function assertKnownNames(
  environment: Readonly<Record<string, string | undefined>>,
  alsoKnown: readonly string[],
): void {
  const known = settingDefinitions.map((setting) => setting.name);
  const accepted = new Set([...known, ...alsoKnown]);
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || accepted.has(name)) continue;
    const upper = name.toUpperCase();
    const nearest = nearestName(upper, known);
    const belongsToUs = families.some((family) => upper.startsWith(family));
    if (nearest.distance > 2 && !belongsToUs) continue;
    throw new UpkeepError(`There is no setting ${name}. Did you mean ${nearest.name}?`, {
      code: 'SETTING_UNKNOWN',
      disposition: 'permanent',
      next: `Rename it to ${nearest.name}, or unset it.`,
      details: { name, nearest: nearest.name },
    });
  }
}

function nearestName(name: string, known: readonly string[]): { name: string; distance: number } {
  let best = { name: '', distance: Number.POSITIVE_INFINITY };
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance < best.distance) best = { name: candidate, distance };
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbouring dead letters. */
function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= right.length; column += 1) {
      const differs = left[row - 1] === right[column - 1] ? 0 : 1;
      let least = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + differs);
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped) least = Math.min(least, at(row - 2, column - 2) + 1);
      current.push(least);
    }
  }
  return at(left.length, right.length);
}
