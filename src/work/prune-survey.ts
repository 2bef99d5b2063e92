import { type CleanupConfig, cleanupConfigOf } from '../lance/cleanup-config.ts';
import { tableNotFound } from '../lance/errors.ts';
import { type ListedVersion, listVersions } from '../lance/list-versions.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Reference } from '../lance/references.ts';
import {
  decideRetention,
  type RetentionRule,
  type RetentionSettings,
  retentionRule,
  type VersionRetention,
} from '../lance/retained-versions.ts';
import { assertWritable } from '../lance/support.ts';
import { readTags } from '../lance/tags.ts';
import { visitReferences } from '../lance/visit-manifests.ts';

/** No version: the file is needed for as long as it is named. */
const RETAINED = Number.POSITIVE_INFINITY;

/** Which names the manifests of a table know, and how long each is needed: names only, so that millions of files fit. */
export class NamedFiles {
  readonly #neededUntil = new Map<string, number>();

  /** A version that stays names these. */
  retain(references: readonly Reference[]): void {
    for (const { name } of references) this.#neededUntil.set(name, RETAINED);
  }

  /** A version that may go names these. */
  prunable(version: number, references: readonly Reference[]): void {
    for (const { name } of references) {
      if ((this.#neededUntil.get(name) ?? 0) < version) this.#neededUntil.set(name, version);
    }
  }

  isRetained(name: string): boolean {
    return this.#neededUntil.get(name) === RETAINED;
  }

  /** The newest prunable version that names it; undefined when no manifest does. Not for retained names. */
  neededUntil(name: string): number | undefined {
    return this.#neededUntil.get(name);
  }
}

/** All manifests of a table, read once. */
export interface Survey {
  readonly head: TableManifest;
  readonly config: CleanupConfig;
  readonly rule: RetentionRule;
  readonly retention: VersionRetention;
  /** Newest first. */
  readonly versions: readonly ListedVersion[];
  readonly detached: number;
  readonly tags: number;
  readonly names: NamedFiles;
}

/**
 * Reads every manifest and decides which versions stay. Writes nothing.
 * Errors, all permanent and before anything is deleted: TABLE_NOT_FOUND, MANIFEST_UNREADABLE, MANIFEST_UNSUPPORTED.
 */
export async function survey(
  store: ObjectStore,
  settings: RetentionSettings,
  now: number,
  signal?: AbortSignal,
): Promise<Survey> {
  const tags = await readTags(store);
  const { versions, detached } = await listVersions(store);
  // After the listing, so that the owner's word is not older than what it is applied to.
  const head = await readNewestManifest(store);
  if (!head || versions.length === 0) throw tableNotFound(store.uri);
  assertWritable(head);
  const config = cleanupConfigOf(head);
  const rule = retentionRule(settings, config, now);
  const retention = decideRetention(versions, new Set(tags.map(({ version }) => version)), rule);
  const names = new NamedFiles();
  const take = (listed: { version?: number }, references: readonly Reference[]) => {
    const { version } = listed;
    if (version === undefined || retention.retained.has(version)) names.retain(references);
    else names.prunable(version, references);
  };
  await visitReferences<{ key: string; version?: number }>(store, [...versions, ...detached], take, signal);
  return { head, config, rule, retention, versions, detached: detached.length, tags: tags.length, names };
}
