import type { Fragment, TableManifest } from './manifest.ts';

/** Lance fills fragments up to this many rows; LanceDB for Node has no option for it. */
const targetRows = 1_048_576;
/** Above this share of deleted rows Lance rewrites a fragment for its own sake. */
const deletedShareToRewrite = 0.1;
/** Below this share of the target size a fragment is small; nearer ones are left alone, or passes would merge their own output again. */
const smallShare = 0.75;

export interface RewritePrediction {
  /** Fragment ids that become one rewrite each, in the table's order. */
  readonly groups: readonly (readonly number[])[];
  /** How many fragments are in `groups`. */
  readonly fragments: number;
  /** Bytes of their data files. Infinity when the manifest leaves out the size of any of them. */
  readonly bytes: number;
}

/** The limits of one compaction, as in the settings. */
export interface PassLimits {
  readonly compactMaxBytes: number;
  readonly compactMaxSourceFragments: number;
  readonly targetFragmentBytes: number;
}

export interface CompactionPass extends RewritePrediction {
  readonly way: 'optimize' | 'bounded' | 'none';
  /** Fragments that need a rewrite, but not even a pair of neighbours (or one alone, for its deletions) fits `compactMaxBytes`. */
  readonly tooLarge: number;
}

/**
 * What LanceDB's optimize() would rewrite at this version: fragments below 1,048,576 rows or with over 10 % of their rows deleted,
 * next to each other and covered by the same index segments; a fragment alone only for its deletions.
 */
export function predictOptimize(manifest: TableManifest): RewritePrediction {
  const coverage = (fragment: Fragment) =>
    manifest.indexes.map((index) => (index.fragments?.has(fragment.id) ? '1' : '0')).join('');
  const groups = neighbours(
    manifest.fragments,
    (fragment) => manyDeleted(fragment) || fragment.physicalRows < targetRows,
    (previous, next) => coverage(previous) === coverage(next),
  );
  return prediction(groups.filter(worthRewriting));
}

/**
 * Runs of at least two neighbouring small fragments, and any fragment with over 10 % of its rows deleted (alone, if need be):
 * what the bounded way may rewrite. Index coverage does not matter to it, since it rewrites rows and not whole groups.
 */
export function smallNeighbours(
  manifest: TableManifest,
  targetFragmentBytes: number,
): readonly (readonly Fragment[])[] {
  const groups = neighbours(
    manifest.fragments,
    (fragment) => manyDeleted(fragment) || isSmall(fragment, targetFragmentBytes),
    () => true,
  );
  return groups.filter(worthRewriting);
}

/** Small is a matter of bytes, so that wide rows converge; a fragment of unknown size is judged by its rows. */
export function isSmall(fragment: Fragment, targetFragmentBytes: number): boolean {
  if (fragment.physicalRows >= targetRows) return false;
  return fragment.bytes === undefined || fragment.bytes < targetFragmentBytes * smallShare;
}

export function manyDeleted(fragment: Fragment): boolean {
  return fragment.deletedRows > fragment.physicalRows * deletedShareToRewrite;
}

/**
 * Chooses between optimize() and the bounded way by what each would rewrite. The groups of the bounded way each fit both limits and
 * are the commits of as many passes; those of optimize() come in one.
 */
export function planPass(manifest: TableManifest, limits: PassLimits): CompactionPass {
  const optimize = predictOptimize(manifest);
  if (optimize.fragments === 0) return { way: 'none', ...optimize, tooLarge: 0 };
  if (optimize.bytes <= limits.compactMaxBytes) return { way: 'optimize', ...optimize, tooLarge: 0 };
  const wanted = smallNeighbours(manifest, limits.targetFragmentBytes);
  const groups = wanted.flatMap((run) => withinLimits(run, limits));
  const bounded = prediction(groups);
  const asked = wanted.reduce((sum, run) => sum + run.length, 0);
  return { way: groups.length === 0 ? 'none' : 'bounded', ...bounded, tooLarge: asked - bounded.fragments };
}

/**
 * Fragments that count towards a compaction: what the pass would rewrite, without the large ones that optimize() takes along.
 * Those alone are no reason to begin: rewriting them changes nothing that anybody waits for.
 */
export function compactableFragments(
  manifest: TableManifest,
  pass: CompactionPass,
  targetFragmentBytes: number,
): number {
  const rewritten = new Set(pass.groups.flat());
  const counts = (fragment: Fragment) => manyDeleted(fragment) || isSmall(fragment, targetFragmentBytes);
  return manifest.fragments.filter((fragment) => rewritten.has(fragment.id) && counts(fragment)).length;
}

function neighbours(
  fragments: readonly Fragment[],
  isCandidate: (fragment: Fragment) => boolean,
  together: (previous: Fragment, next: Fragment) => boolean,
): Fragment[][] {
  const groups: Fragment[][] = [];
  let current: Fragment[] = [];
  for (const fragment of fragments) {
    const previous = current.at(-1);
    const continues = isCandidate(fragment) && previous !== undefined && together(previous, fragment);
    if (continues) {
      current.push(fragment);
      continue;
    }
    if (current.length > 0) groups.push(current);
    current = isCandidate(fragment) ? [fragment] : [];
  }
  if (current.length > 0) groups.push(current);
  return groups;
}

function worthRewriting(group: readonly Fragment[]): boolean {
  return group.length > 1 || group.some(manyDeleted);
}

function withinLimits(run: readonly Fragment[], limits: PassLimits): Fragment[][] {
  const groups: Fragment[][] = [];
  let current: Fragment[] = [];
  let bytes = 0;
  for (const fragment of run) {
    const size = fragment.bytes ?? Number.POSITIVE_INFINITY;
    const full = current.length >= limits.compactMaxSourceFragments || bytes + size > limits.compactMaxBytes;
    if (full && current.length > 0) {
      groups.push(current);
      current = [];
      bytes = 0;
    }
    if (size > limits.compactMaxBytes) continue;
    current.push(fragment);
    bytes += size;
  }
  if (current.length > 0) groups.push(current);
  return groups.filter(worthRewriting);
}

function prediction(groups: readonly (readonly Fragment[])[]): RewritePrediction {
  const fragments = groups.flat();
  const bytes = fragments.reduce((sum, fragment) => sum + (fragment.bytes ?? Number.POSITIVE_INFINITY), 0);
  return {
    groups: groups.map((group) => group.map((fragment) => fragment.id)),
    fragments: fragments.length,
    bytes,
  };
}
