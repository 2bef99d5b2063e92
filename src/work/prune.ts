import { findNewestVersion } from '../lance/newest.ts';
import type { WorkResult } from '../tasks/task.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import { type Deleted, deleteBatch, type PruneLimits, pruneLimits } from './prune-batch.ts';
import { batchesOf, bytesOf, type PrunePlan, planPrune, retainedCounts, talliesOf } from './prune-plan.ts';
import { PruneRecord } from './prune-record.ts';
import { survey } from './prune-survey.ts';

/**
 * Removes the versions that nobody can need any more, and the files that only those named. Reads all manifests first; LanceDB's own
 * prune fails as a whole over an old tag, and this one does not.
 *
 *   every manifest -> plan -> record -> manifests -> versions and tags anew -> files -> record dropped
 *
 * Every arrow is a point where the process may die: the next pass takes the files of the record into its own plan, rechecked again by
 * everything that is retained then. Makes no commit, loads no native library.
 * Errors: MANIFEST_UNREADABLE and MANIFEST_UNSUPPORTED before anything is deleted, DEADLINE when no time was left to begin.
 */
export async function prune(
  context: WorkContext,
  dependencies: WorkDependencies,
  limits: PruneLimits = pruneLimits,
): Promise<WorkResult> {
  const { settings, storageFor } = dependencies;
  const store = storageFor(context.target);
  const now = dependencies.now();
  const record = new PruneRecord(storageFor, context.target);
  const recorded = await record.read();
  const surveyed = await survey(store, settings, now, context.signal);
  const versionBefore = await context.baseVersion(surveyed.head.version);
  const plan = await planPrune(store, surveyed, recorded.files, now);

  const deleted: Deleted = { versions: [], files: [] };
  let older = recorded.plans;
  let finished = true;
  for (const batch of batchesOf(plan, limits)) {
    finished = context.remainingMs() > 0;
    if (!finished) break;
    context.progress(`pruning ${batch.versions.length} versions and ${batch.files.length} files`);
    await context.fence();
    const parts = await record.write(batch, surveyed.head.version, now);
    await record.drop(older);
    older = [];
    finished = await deleteBatch(context, store, surveyed, batch, limits, deleted);
    if (!finished) break;
    await record.drop(parts);
  }
  if (finished) await record.drop(older);
  else assertProgress(deleted);
  const versionAfter = (await findNewestVersion(store))?.version ?? surveyed.head.version;
  return resultOf({ plan, deleted, finished, versionBefore, versionAfter, resumed: recorded.plans.length });
}

function assertProgress({ versions, files }: Deleted): void {
  if (versions.length + files.length > 0) return;
  throw new WorkError('DEADLINE', 'No time was left to delete what the manifests had been read for.', {
    disposition: 'failure',
    next: 'Give the task more time, or run this table once from a machine without a limit.',
  });
}

interface PruneOutcome {
  readonly plan: PrunePlan;
  readonly deleted: Deleted;
  readonly finished: boolean;
  readonly versionBefore: number;
  readonly versionAfter: number;
  readonly resumed: number;
}

function resultOf(outcome: PruneOutcome): WorkResult {
  const { plan, deleted, finished, versionBefore, versionAfter, resumed } = outcome;
  const tallies = talliesOf(deleted.versions, deleted.files);
  const left = plan.versions.length - deleted.versions.length;
  const bytes = bytesOf(tallies);
  return {
    ...(finished
      ? {}
      : {
          partial: `${left} versions and their files left for the next pass`,
          followUp: { kind: 'Prune', reason: 'versions-remaining' },
        }),
    rewroteNothing: deleted.versions.length + deleted.files.length === 0,
    versionBefore,
    versionAfter,
    metrics: {
      prune_versions_removed: deleted.versions.length,
      prune_files_removed: deleted.files.length,
      prune_bytes_removed: bytes,
    },
    proof: {
      versionBefore,
      versionAfter,
      versionsBefore: plan.survey.versions.length,
      versionsRemoved: deleted.versions.length,
      versionsRetained: retainedCounts(plan.survey),
      retentionMs: plan.survey.rule.retentionMs,
      retentionOf: retentionOf(plan),
      filesRemoved: deleted.files.length,
      bytesRemoved: bytes,
      removed: tallies,
      orphansRemoved: finished ? plan.orphans : 0,
      orphansTooYoung: plan.youngOrphans,
      recordsTakenOver: resumed,
    },
  };
}

/** Whose word the age of versions is. */
export function retentionOf({ survey: { config } }: PrunePlan): 'table' | 'settings' {
  return config.olderThanMs === undefined ? 'settings' : 'table';
}
