import type { TableManifest } from '../lance/manifest.ts';
import { boundedGroups, nextCommit } from '../lance/rewrite-prediction.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { withHold } from './hold.ts';
import { optimizeFragments } from './optimize.ts';

/** Below this the next commit is not begun, nor below twice what the slowest one took: a deadline inside of it would cost the task. */
const TIME_FOR_ONE_COMMIT_MS = 15_000;

/**
 * Compacts a table that is too large to be rewritten as a whole: a hold keeps optimize() off every fragment but those of
 * the next groups, again and again until no group is left. LanceDB remaps every index in the same commits and extends it
 * over uncovered rows.
 * @returns how many groups were left for want of time.
 */
export function boundedCompaction(
  context: WorkContext,
  dependencies: WorkDependencies,
  manifest: TableManifest,
): Promise<number> {
  const { settings } = dependencies;
  // What this pass writes is small too, and a second rewrite of it is the next pass's choice.
  const newest = Math.max(...manifest.fragments.map(({ id }) => id));
  return withHold(context, dependencies, async (holdAllBut) => {
    let head = manifest;
    let slowest = 0;
    for (let commits = 1; ; commits += 1) {
      // Planned anew each time: writers commit meanwhile, and once the indexes are extended more fragments fit together.
      const planned = boundedGroups(head, settings, ({ id }) => id > newest);
      if (planned.groups.length === 0) return 0;
      const needed = Math.max(TIME_FOR_ONE_COMMIT_MS, slowest * 2);
      if (commits > 1 && context.remainingMs() < needed) return planned.groups.length;
      const began = dependencies.now();
      const group = nextCommit(head, planned, settings).flat();
      const before = await holdAllBut(group);
      head = await optimizeFragments(context, dependencies, before, group);
      slowest = Math.max(slowest, dependencies.now() - began);
      const left = new Set(head.fragments.map(({ id }) => id));
      // Fragments that LanceDB leaves as they are would be planned for ever.
      if (group.every((id) => left.has(id))) return 0;
      context.progress(`commit ${commits}: ${before.fragments.length} fragments became ${head.fragments.length}`);
    }
  });
}
