import { isHold } from './hold.ts';
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

export interface BoundedGroups extends RewritePrediction {
  /** Fragments that need a rewrite, but not even a pair of neighbours (or one alone, for its deletions) fits `compactMaxBytes`. */
  readonly tooLarge: number;
}

export interface CompactionPass extends BoundedGroups {
  readonly strategy: 'optimize' | 'bounded' | 'none';
}

/**
 * What LanceDB's optimize() would rewrite at this version: fragments below 1,048,576 rows or with over 10 % of their rows deleted,
 * next to each other and covered by the same index segments; a fragment alone only for its deletions.
 */
export function predictOptimize(manifest: TableManifest): RewritePrediction {
  const groups = neighbours(manifest, (fragment) => manyDeleted(fragment) || fragment.physicalRows < targetRows);
  return prediction(groups.filter(worthRewriting));
}

/**
 * What the bounded strategy may rewrite: runs of at least two neighbouring small fragments, and any fragment with over 10 % of its
 * rows deleted (alone, if need be), cut so that each group fits both limits. Like predictOptimize, it keeps apart what
 * different index segments cover.
 * @param exclude fragments to leave alone: what the same pass has written already.
 */
export function boundedGroups(
  manifest: TableManifest,
  limits: PassLimits,
  exclude: (fragment: Fragment) => boolean = () => false,
): BoundedGroups {
  const runs = neighbours(
    manifest,
    (fragment) => !exclude(fragment) && (manyDeleted(fragment) || isSmall(fragment, limits.targetFragmentBytes)),
  ).filter(worthRewriting);
  const groups = prediction(runs.flatMap((run) => withinLimits(run, limits)));
  const asked = runs.reduce((sum, run) => sum + run.length, 0);
  return { ...groups, tooLarge: asked - groups.fragments };
}

/** Small is a matter of bytes, so that wide rows converge; a fragment of unknown size is rechecked by its rows. */
export function isSmall(fragment: Fragment, targetFragmentBytes: number): boolean {
  if (fragment.physicalRows >= targetRows) return false;
  return fragment.bytes === undefined || fragment.bytes < targetFragmentBytes * smallShare;
}

export function manyDeleted(fragment: Fragment): boolean {
  return fragment.deletedRows > fragment.physicalRows * deletedShareToRewrite;
}

/**
 * Chooses between optimize() and the bounded strategy by what each would rewrite. Each group of the bounded strategy fits both limits;
 * `nextCommit` says which of them one commit takes.
 */
export function planPass(manifest: TableManifest, limits: PassLimits): CompactionPass {
  const optimize = predictOptimize(manifest);
  if (optimize.fragments === 0) return { strategy: 'none', ...optimize, tooLarge: 0 };
  if (optimize.bytes <= limits.compactMaxBytes) return { strategy: 'optimize', ...optimize, tooLarge: 0 };
  const bounded = boundedGroups(manifest, limits);
  return { strategy: bounded.groups.length === 0 ? 'none' : 'bounded', ...bounded };
}

/** The groups at the front of a bounded pass that fit both limits together: what one commit rewrites. Never empty. */
export function nextCommit(
  manifest: TableManifest,
  { groups }: Pick<RewritePrediction, 'groups'>,
  limits: PassLimits,
): readonly (readonly number[])[] {
  const bytesOf = new Map(manifest.fragments.map(({ id, bytes }) => [id, bytes ?? Number.POSITIVE_INFINITY]));
  const chosen: (readonly number[])[] = [];
  let bytes = 0;
  let fragments = 0;
  for (const group of groups) {
    bytes += group.reduce((sum, id) => sum + (bytesOf.get(id) ?? 0), 0);
    fragments += group.length;
    const fits = bytes <= limits.compactMaxBytes && fragments <= limits.compactMaxSourceFragments;
    if (chosen.length > 0 && !fits) break;
    chosen.push(group);
  }
  return chosen;
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

/** Runs of neighbouring candidates that the same index segments cover. A hold is no index: it is gone before anything is rewritten. */
function neighbours(manifest: TableManifest, isCandidate: (fragment: Fragment) => boolean): Fragment[][] {
  const segments = manifest.indexes.filter((index) => !isHold(index));
  const coverage = (fragment: Fragment) =>
    segments.map((index) => (index.fragments?.has(fragment.id) ? '1' : '0')).join('');
  const groups: Fragment[][] = [];
  let current: Fragment[] = [];
  for (const fragment of manifest.fragments) {
    const previous = current.at(-1);
    const candidate = isCandidate(fragment);
    if (candidate && previous !== undefined && coverage(previous) === coverage(fragment)) {
      current.push(fragment);
      continue;
    }
    if (current.length > 0) groups.push(current);
    current = candidate ? [fragment] : [];
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
