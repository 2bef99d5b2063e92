import { setTimeout as sleep } from 'node:timers/promises';
import { type ListedVersion, listVersions } from '../lance/list-versions.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { readTags } from '../lance/tags.ts';
import { visitReferences } from '../lance/visit-manifests.ts';
import type { WorkContext } from './context.ts';
import type { PrunableFile, PruneBatch } from './prune-plan.ts';
import type { NamedFiles, Survey } from './prune-survey.ts';

export interface PruneLimits {
  /** Of one batch. */
  readonly maxVersions: number;
  readonly maxFiles: number;
  /** Deletions between two renewals of the lease. */
  readonly group: number;
  /**
   * Between the last manifest and the first file, milliseconds: a restore() that had read an old manifest just before has made its
   * commit by then, and that commit protects the files.
   */
  readonly restoreGraceMs: number;
}

export const pruneLimits: PruneLimits = { maxVersions: 2_000, maxFiles: 20_000, group: 500, restoreGraceMs: 3_000 };

export interface Deleted {
  readonly versions: ListedVersion[];
  readonly files: PrunableFile[];
}

const DELETES_AT_A_TIME = 16;

/**
 * Deletes what was recorded: manifests, oldest first, then the files that still nothing needs.
 *
 *   tags -> manifests -> a moment -> versions and tags anew -> files
 *
 * What is deleted is told through `deleted` as it happens. Answers false when the time ran out in between: the record stays, and
 * the next pass goes on from it.
 */
export async function deleteBatch(
  context: WorkContext,
  store: ObjectStore,
  survey: Survey,
  batch: PruneBatch,
  limits: PruneLimits,
  deleted: Deleted,
): Promise<boolean> {
  const gone = new Set(deleted.versions.map(({ version }) => version));
  for (const group of groupsOf(batch.versions, limits.group)) {
    if (context.remainingMs() <= 0) return false;
    await context.fence();
    // Read for each group, since a tag may be set on any version that is still there.
    const tagged = new Set((await readTags(store)).map(({ version }) => version));
    const going = group.filter(({ version }) => !tagged.has(version));
    await deleteAll(context, store, going);
    for (const listed of going) gone.add(listed.version);
    deleted.versions.push(...going);
  }
  if (batch.versions.length > 0) await sleep(limits.restoreGraceMs, undefined, { signal: context.signal });
  await protectNewlyNamed(context, store, survey, gone);
  for (const group of groupsOf(batch.files, limits.group)) {
    if (context.remainingMs() <= 0) return false;
    await context.fence();
    const going = group.filter(({ owner }) => !survey.names.isRetained(owner));
    await deleteAll(context, store, going);
    deleted.files.push(...going);
  }
  return true;
}

/**
 * What came since the survey, or was to go and is still there, names files that stay: a commit, a restore() that brought an old
 * version's files back, a version tagged meanwhile.
 */
async function protectNewlyNamed(
  context: WorkContext,
  store: ObjectStore,
  survey: Survey,
  gone: ReadonlySet<number>,
): Promise<void> {
  const tagged = new Set((await readTags(store)).map(({ version }) => version));
  const known = new Map(survey.versions.map(({ version, modified }) => [version, modified]));
  const isFresh = ({ version, modified }: ListedVersion) =>
    known.get(version) !== modified ||
    gone.has(version) ||
    (tagged.has(version) && !survey.retention.retained.has(version));
  const { versions, detached } = await listVersions(store);
  const fresh = versions.filter(isFresh);
  const names: NamedFiles = survey.names;
  const manifests: { readonly key: string }[] = [...fresh, ...detached];
  await visitReferences(store, manifests, (_, references) => names.retain(references), context.signal);
}

/** The deletions that were begun have ended when it throws: none may go on behind the back of the next holder of the lease. */
async function deleteAll(context: WorkContext, store: ObjectStore, objects: readonly { readonly key: string }[]) {
  for (const part of groupsOf(objects, DELETES_AT_A_TIME)) {
    context.signal.throwIfAborted();
    const outcomes = await Promise.allSettled(part.map(({ key }) => store.delete(key)));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

function* groupsOf<Item>(items: readonly Item[], size: number): Generator<readonly Item[], void, undefined> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
