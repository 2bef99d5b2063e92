import { typedErrorIn, UpkeepError } from '../errors.ts';
import { keyColumnOf, keyIndexOf } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { indexFilesMissing, missingDataFiles, missingIndexFiles, tableFilesMissing } from '../lance/missing-files.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Task } from '../tasks/task.ts';
import { isNative, lancedbError, namesMissingFile } from './lancedb-errors.ts';

/**
 * What a task failed with, named: an error of LanceDB that nobody wrapped gets its disposition here, so that a throttle or a lost race is no
 * failure wherever it comes up; and where LanceDB missed a file, the files of the newest version are looked for.
 */
export async function namedFailure(error: unknown, task: Task, store: ObjectStore): Promise<unknown> {
  const typed = typedErrorIn(error) ?? (isNative(error) ? lancedbError(error, `working on ${task.kind}`) : undefined);
  if (typed === undefined || !namesMissingFile(typed)) return typed ?? error;
  try {
    return (await lostFiles(store)) ?? typed;
  } catch {
    // What was looked for cannot be listed now: what LanceDB said stands.
    return typed;
  }
}

/** The first thing that is really gone from the newest version; undefined when everything is there. */
async function lostFiles(store: ObjectStore): Promise<UpkeepError | undefined> {
  const manifest = await readNewestManifest(store);
  if (!manifest) return undefined;
  const lost = await missingDataFiles(store, manifest);
  const indexes = await missingIndexFiles(store, manifest);
  // A newer version may name other files, and a cleanup may have taken those of this one.
  const moved = (await readNewestManifest(store))?.version !== manifest.version;
  if (moved) return undefined;
  if (lost.length > 0) return tableFilesMissing(store.uri, manifest.version, lost);
  const ofKey = keyIndexName(manifest);
  const [first] = [...indexes].sort(([a], [b]) => Number(b === ofKey) - Number(a === ofKey));
  return first && indexFilesMissing(store.uri, first[0], first[1], first[0] === ofKey);
}

/**
 * Refuses a table with an index whose files are gone: LanceDB's compaction would drop it, with its parameters. The key's
 * index is none of them, since IndexId builds it anew. Throws INDEX_FILES_MISSING (permanent).
 */
export async function assertIndexFiles(store: ObjectStore, manifest: TableManifest): Promise<void> {
  const ofKey = keyIndexName(manifest);
  const [lost] = [...(await missingIndexFiles(store, manifest))].filter(([name]) => name !== ofKey);
  if (lost) throw indexFilesMissing(store.uri, lost[0], lost[1], false);
}

/** Of a table without a usable key: undefined. */
export function keyIndexName(manifest: TableManifest): string | undefined {
  try {
    return keyIndexOf(manifest, keyColumnOf(manifest))?.name;
  } catch (error) {
    if (error instanceof UpkeepError) return undefined;
    throw error;
  }
}
