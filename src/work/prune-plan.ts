import type { ListedVersion } from '../lance/list-versions.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { FILE_CLASSES, type FileClass, listOwnedFiles, type OwnedFile } from '../lance/prunable-files.ts';
import type { Survey } from './prune-survey.ts';

/** A file that no manifest ever named may belong to a commit that is still under way, for so long. Lance takes the same time. */
export const ORPHAN_AGE_MS = 7 * 86_400_000;

export interface PrunableFile extends OwnedFile {
  /** The version after whose removal nothing needs it; 0 when nothing does already. */
  readonly neededUntil: number;
}

export interface Tally {
  readonly files: number;
  readonly bytes: number;
}

export type Tallies = Readonly<Record<FileClass, Tally>>;

/** What a prune would delete now. Nothing of it has happened. */
export interface PrunePlan {
  readonly survey: Survey;
  /** Oldest first. */
  readonly versions: readonly ListedVersion[];
  /** By the version that they wait for. */
  readonly files: readonly PrunableFile[];
  /** Of `files`, those that no manifest ever named. */
  readonly orphans: number;
  /** Files that no manifest names and that are too young to judge. */
  readonly youngOrphans: number;
  /** What would be given back, manifests included. */
  readonly tallies: Tallies;
}

/**
 * Compares what lies in the table's folders with what its manifests name.
 * @param recorded keys that an earlier pass had found to be needed by pruned versions only: they need not age as orphans.
 */
export async function planPrune(
  store: ObjectStore,
  survey: Survey,
  recorded: ReadonlySet<string>,
  now: number,
): Promise<PrunePlan> {
  const files: PrunableFile[] = [];
  let orphans = 0;
  let youngOrphans = 0;
  for await (const file of listOwnedFiles(store)) {
    if (survey.names.isRetained(file.owner)) continue;
    const neededUntil = survey.names.neededUntil(file.owner);
    if (neededUntil !== undefined) files.push({ ...file, neededUntil });
    else if (recorded.has(file.key)) files.push({ ...file, neededUntil: 0 });
    else if (now - file.modified > ORPHAN_AGE_MS) {
      orphans += 1;
      files.push({ ...file, neededUntil: 0 });
    } else youngOrphans += 1;
  }
  const versions = survey.retention.prunable;
  files.sort((a, b) => a.neededUntil - b.neededUntil);
  return { survey, versions, files, orphans, youngOrphans, tallies: talliesOf(versions, files) };
}

export function talliesOf(
  manifests: readonly { readonly size: number }[],
  files: readonly { readonly fileClass: FileClass; readonly size: number }[],
): Tallies {
  const tallies = Object.fromEntries(FILE_CLASSES.map((name) => [name, { files: 0, bytes: 0 }])) as Record<
    FileClass,
    { files: number; bytes: number }
  >;
  const add = (tally: { files: number; bytes: number }, size: number) => {
    tally.files += 1;
    tally.bytes += size;
  };
  for (const { size } of manifests) add(tallies.manifests, size);
  for (const { fileClass, size } of files) add(tallies[fileClass], size);
  return tallies;
}

export function bytesOf(tallies: Tallies): number {
  return FILE_CLASSES.reduce((sum, name) => sum + tallies[name].bytes, 0);
}

/** How many versions stay for which reason; only reasons that occur. */
export function retainedCounts(survey: Survey): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const reason of survey.retention.retained.values()) counts[reason] = (counts[reason] ?? 0) + 1;
  return survey.detached > 0 ? { ...counts, detached: survey.detached } : counts;
}

/** A part of a plan that is recorded, deleted and ticked off as one. */
export interface PruneBatch {
  readonly versions: readonly ListedVersion[];
  readonly files: readonly PrunableFile[];
}

/**
 * Cuts a plan into batches of bounded size, oldest versions first: what is recorded at any time stays small, and a pass that runs out
 * of time has given back what it finished. A batch goes above `maxFiles` by what one version names alone, since a manifest goes as a whole.
 */
export function* batchesOf(
  plan: Pick<PrunePlan, 'versions' | 'files'>,
  limits: { readonly maxVersions: number; readonly maxFiles: number },
): Generator<PruneBatch, void, undefined> {
  let at = 0;
  let version = 0;
  while (version < plan.versions.length || at < plan.files.length) {
    const firstFile = at;
    const firstVersion = version;
    const isRoom = () => version - firstVersion < limits.maxVersions && at - firstFile < limits.maxFiles;
    // Files that nothing needs any more come first and at once: the record of the first batch takes over what older records held.
    while (plan.files[at]?.neededUntil === 0) at += 1;
    while (version < plan.versions.length && isRoom()) {
      const current = plan.versions[version] as ListedVersion;
      version += 1;
      while (at < plan.files.length && (plan.files[at] as PrunableFile).neededUntil <= current.version) at += 1;
    }
    yield { versions: plan.versions.slice(firstVersion, version), files: plan.files.slice(firstFile, at) };
  }
}
