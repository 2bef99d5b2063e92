import type { Settings } from '../config.ts';
import { errorRecord, type UpkeepError } from '../errors.ts';
import { tableNotFound } from '../lance/errors.ts';
import { canHaveBTree, keyColumnOf, keyIndexOf } from '../lance/key-index.ts';
import type { TableManifest } from '../lance/manifest.ts';
import { findNewestVersion, readNewestManifest } from '../lance/newest.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { compactableFragments, isSmall, planPass } from '../lance/rewrite-prediction.ts';
import { assertReadable, assertWritable } from '../lance/support.ts';
import type { KeyIndexFacts, TableFacts } from './facts.ts';
import { withIndexFiles } from './observe-files.ts';
import { holdFacts, observeIndexes } from './observe-indexes.ts';
import { type ObserveVersionsSettings, observeVersions } from './observe-versions.ts';
import { observeWal } from './observe-wal.ts';
import { permanentErrorIn } from './permanent-error.ts';

/** What an observation needs to know from the settings. */
export type ObserveSettings = Pick<
  Settings,
  'targetFragmentBytes' | 'compactMaxBytes' | 'compactMaxSourceFragments' | 'generationRetentionMs'
> &
  ObserveVersionsSettings;

const hour = 3_600_000;

/**
 * Reads what a table needs from its manifests alone: two small reads for an idle table without a MemWAL. The MemWAL is counted each
 * time, whether or not the base version moved, since flushes never move it.
 * `previous` spares the listing: the next version's key is computable. Once an hour the listing decides anyway, since a tag can keep
 * the remembered version alive after its successors were pruned.
 * @throws UpkeepError TABLE_NOT_FOUND, MANIFEST_UNREADABLE, MANIFEST_UNSUPPORTED (permanent), and whatever the object store throws.
 *   Damage in one shard does not throw: it is in `error`, the rest is observed.
 */
export async function observe(
  store: ObjectStore,
  target: string,
  settings: ObserveSettings,
  now: number,
  previous?: TableFacts,
): Promise<TableFacts> {
  const facts = await lookOnce(store, target, settings, now, previous);
  const missing = facts.error?.code === 'GENERATION_MISSING' || facts.error?.code === 'INDEX_FILES_MISSING';
  if (!missing && facts.keyIndex?.filesMissing === undefined) return facts;
  // What ended meanwhile collects what it replaced: only at one and the same version is anything really missing.
  const newest = await findNewestVersion(store);
  return newest?.version === facts.version ? facts : lookOnce(store, target, settings, now);
}

async function lookOnce(
  store: ObjectStore,
  target: string,
  settings: ObserveSettings,
  now: number,
  previous?: TableFacts,
): Promise<TableFacts> {
  const memory = previous === undefined ? undefined : remembered(previous, now);
  const manifest = await readNewestManifest(store, memory);
  if (manifest === undefined) throw tableNotFound(target);
  assertReadable(manifest);
  const key = keyFacts(manifest);
  const wal = await observeWal(store, manifest, settings, now, previous?.wal ?? null);
  const unwritable = unsupportedIn(manifest);
  const error = unwritable ?? wal?.error ?? key.error;
  const versions = unwritable ? undefined : await observeVersions(store, manifest, settings, now, previous?.versions);
  const facts = {
    target,
    observedAt: now,
    ...tableFacts(manifest, settings),
    keyColumn: key.column,
    ...(key.typeWithoutIndex === undefined ? {} : { keyTypeWithoutIndex: key.typeWithoutIndex }),
    keyIndex: key.index,
    indexes: observeIndexes(manifest, wal?.shards ?? [], previous),
    hold: holdFacts(manifest),
    wal: wal === null ? null : { shards: wal.shards },
    ...(versions === undefined ? {} : { versions }),
    ...(error === undefined ? {} : { error: errorRecord(error) }),
  };
  if (memory === undefined) return withIndexFiles(store, manifest, facts);
  return previous?.filesCheckedAt === undefined ? facts : { ...facts, filesCheckedAt: previous.filesCheckedAt };
}

function remembered(previous: TableFacts, now: number): { version: number; now: number } | undefined {
  const sameHour = Math.floor(previous.observedAt / hour) === Math.floor(now / hour);
  if (!sameHour || previous.error !== undefined || previous.keyIndex?.filesMissing) return undefined;
  // Dated by its own version, the memory is never too old for readNewestManifest, which would list on every look at an idle table.
  return { version: previous.version, now: previous.versionTimestamp };
}

/** A table that may be read but not written is observed like any other; its error keeps tasks away that could only fail. */
function unsupportedIn(manifest: TableManifest): UpkeepError | undefined {
  try {
    assertWritable(manifest);
    return undefined;
  } catch (error) {
    const typed = permanentErrorIn(error);
    if (typed === undefined) throw error;
    return typed;
  }
}

function tableFacts(manifest: TableManifest, settings: ObserveSettings) {
  const pass = planPass(manifest, settings);
  const small = manifest.fragments.filter((fragment) => isSmall(fragment, settings.targetFragmentBytes));
  return {
    version: manifest.version,
    versionTimestamp: manifest.timestamp,
    rows: manifest.liveRows,
    physicalRows: manifest.physicalRows,
    deletedRows: manifest.deletedRows,
    fragments: manifest.fragments.length,
    smallFragments: small.length,
    compactableFragments: compactableFragments(manifest, pass, settings.targetFragmentBytes),
    tooLargeFragments: pass.tooLarge,
    bytes: manifest.dataBytes,
  };
}

/** A table without a key column is no error: there is just nothing to index. A key that is not understood is one. */
function keyFacts(manifest: TableManifest): {
  column: string | null;
  index: KeyIndexFacts | null;
  typeWithoutIndex?: string;
  error?: UpkeepError;
} {
  try {
    const key = keyColumnOf(manifest);
    const type = manifest.fields.find(({ id }) => id === key.fieldId)?.logicalType ?? '';
    const column = { column: key.name, ...(canHaveBTree(type) ? {} : { typeWithoutIndex: type }) };
    const found = keyIndexOf(manifest, key);
    if (found === null) return { ...column, index: null };
    const { name, kind, exact, coveredFragments, uncoveredFragments, unindexedRows } = found;
    return { ...column, index: { name, kind, exact, coveredFragments, uncoveredFragments, unindexedRows } };
  } catch (error) {
    const typed = permanentErrorIn(error);
    if (typed === undefined) throw error;
    if (typed.code === 'KEY_COLUMN_MISSING') return { column: null, index: null };
    return { column: null, index: null, error: typed };
  }
}
