import type { WorkDependencies } from '../work/context.ts';
import { retentionOf } from '../work/prune.ts';
import { bytesOf, planPrune, retainedCounts } from '../work/prune-plan.ts';
import { PruneRecord } from '../work/prune-record.ts';
import { survey } from '../work/prune-survey.ts';
import { type PrunePreview, SCHEMA_VERSION } from './reports.ts';

/** What a Prune of this table would delete now. Writes nothing, neither to the table nor anywhere else. Errors: those of a Prune. */
export async function previewPrune(
  { storageFor, settings, now }: Pick<WorkDependencies, 'storageFor' | 'settings' | 'now'>,
  target: string,
): Promise<PrunePreview> {
  const store = storageFor(target);
  const at = now();
  const recorded = await new PruneRecord(storageFor, target).read();
  const surveyed = await survey(store, settings, at);
  const plan = await planPrune(store, surveyed, recorded.files, at);
  return {
    schemaVersion: SCHEMA_VERSION,
    target,
    version: surveyed.head.version,
    versions: surveyed.versions.length,
    prunableVersions: plan.versions.length,
    retained: retainedCounts(surveyed),
    retentionMs: surveyed.rule.retentionMs,
    retentionOf: retentionOf(plan),
    files: plan.files.length,
    bytes: bytesOf(plan.tallies),
    classes: plan.tallies,
    orphans: plan.orphans,
    orphansTooYoung: plan.youngOrphans,
    plan: {
      manifests: plan.versions.map(({ key }) => key),
      files: plan.files.map(({ key }) => key),
    },
  };
}
