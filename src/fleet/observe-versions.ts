import type { Settings } from '../config.ts';
import { cleanupConfigOf } from '../lance/cleanup-config.ts';
import { type ListedVersion, listVersions } from '../lance/list-versions.ts';
import type { TableManifest } from '../lance/manifest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { type Reference, referencesOf } from '../lance/references.ts';
import { decideRetention, retentionRule, type VersionRetention } from '../lance/retained-versions.ts';
import { readTags } from '../lance/tags.ts';
import { visitReferences } from '../lance/visit-manifests.ts';
import type { VersionFacts } from './facts.ts';
import { permanentErrorIn } from './permanent-error.ts';

export type ObserveVersionsSettings = Pick<
  Settings,
  'versionRetentionMs' | 'generationRetentionMs' | 'pruneKeepVersions'
>;

const hour = 3_600_000;
/** Manifests that one measurement reads at most, the newest one not counted: that has been read anyway. */
const MOST_MANIFESTS = 16;

/**
 * Counts the versions of a table and what pruning would free: a listing of `_versions/`, and when some may go, the tags and a sample of
 * old manifests. Not more than hourly, and only when the answer can have changed; else the last one stands.
 * A reason for which a prune would be refused is part of the facts and hides nothing else.
 */
export async function observeVersions(
  store: ObjectStore,
  manifest: TableManifest,
  settings: ObserveVersionsSettings,
  now: number,
  previous: VersionFacts | undefined,
): Promise<VersionFacts> {
  return previous !== undefined && stands(previous, manifest, now) ? previous : measure(store, manifest, settings, now);
}

function stands(previous: VersionFacts, manifest: TableManifest, now: number): boolean {
  // A table that was dropped and made again begins anew.
  if (manifest.version < previous.measuredVersion) return false;
  if (now - previous.measuredAt < hour) return true;
  const agedSince = previous.nextPrunableAt !== null && now >= previous.nextPrunableAt;
  return previous.measuredVersion === manifest.version && previous.prunable === 0 && !agedSince;
}

async function measure(
  store: ObjectStore,
  manifest: TableManifest,
  settings: ObserveVersionsSettings,
  now: number,
): Promise<VersionFacts> {
  const { versions } = await listVersions(store);
  const facts = {
    count: versions.length,
    prunable: 0,
    prunableBytes: 0,
    oldest: versions.at(-1)?.modified ?? manifest.timestamp,
    oldestPrunable: null,
    nextPrunableAt: null,
    retentionMs: settings.versionRetentionMs,
    measuredAt: now,
    measuredVersion: manifest.version,
  };
  try {
    const rule = retentionRule(settings, cleanupConfigOf(manifest), now);
    const untagged = decideRetention(versions, new Set(), rule);
    // Tags only ever keep more: where nothing may go without them, they need not be read.
    const tags = untagged.prunable.length === 0 ? [] : await readTags(store);
    const results = decideRetention(versions, new Set(tags.map(({ version }) => version)), rule);
    return {
      ...facts,
      prunable: results.prunable.length,
      prunableBytes: await freedAtLeast(store, manifest, versions, results),
      oldestPrunable: results.prunable[0]?.modified ?? null,
      nextPrunableAt: results.nextPrunableAt,
      retentionMs: rule.retentionMs,
    };
  } catch (error) {
    const typed = permanentErrorIn(error);
    if (typed === undefined) throw error;
    return { ...facts, refused: typed.message };
  }
}

/**
 * Manifests of all prunable versions, and the files that a sample of them names and no version that stays. A file is needed by
 * neighbouring versions, so the retained ones next to a sampled version, and the newest one, tell whether it stays.
 */
async function freedAtLeast(
  store: ObjectStore,
  manifest: TableManifest,
  versions: readonly ListedVersion[],
  { prunable, retained }: VersionRetention,
): Promise<number> {
  if (prunable.length === 0) return 0;
  const { sampled, neighbours } = sampleOf(prunable, versions, retained, manifest.version);
  const staying = new Set(referencesOf(manifest.key, manifest.bytes).map(({ name }) => name));
  const going = new Map<string, number>();
  const old = new Set(sampled);
  const take = (listed: ListedVersion, references: readonly Reference[]) => {
    for (const { name, bytes = 0 } of references) {
      if (old.has(listed)) going.set(name, bytes);
      else staying.add(name);
    }
  };
  await visitReferences(store, [...sampled, ...neighbours], take);
  let bytes = prunable.reduce((sum, { size }) => sum + size, 0);
  for (const [name, size] of going) if (!staying.has(name)) bytes += size;
  return bytes;
}

/** As many evenly spaced prunable versions as fit, together with the retained ones next to each. */
export function sampleOf(
  prunable: readonly ListedVersion[],
  versions: readonly ListedVersion[],
  retained: ReadonlyMap<number, unknown>,
  head: number,
): { readonly sampled: readonly ListedVersion[]; readonly neighbours: readonly ListedVersion[] } {
  const staying = versions.filter(({ version }) => retained.has(version));
  for (let count = Math.min(MOST_MANIFESTS, prunable.length); ; count -= 1) {
    const sampled = Array.from({ length: count }, (_, index) => {
      const at = count === 1 ? prunable.length - 1 : Math.round((index * (prunable.length - 1)) / (count - 1));
      return prunable[at] as ListedVersion;
    });
    const neighbours = new Set(sampled.flatMap(({ version }) => nextTo(version, staying)));
    const read = [...neighbours].filter(({ version }) => version !== head);
    if (count === 1 || count + read.length <= MOST_MANIFESTS) return { sampled, neighbours: read };
  }
}

/** The retained versions right above and right below; `staying` is newest first. */
function nextTo(version: number, staying: readonly ListedVersion[]): ListedVersion[] {
  const below = staying.findIndex((listed) => listed.version < version);
  const above = below < 0 ? staying.at(-1) : staying[below - 1];
  return [above, below < 0 ? undefined : staying[below]].filter((listed) => listed !== undefined);
}
