import { unreadable, unsupported } from './errors.ts';
import { deletionKey } from './fragments.ts';
import { INDEX_FIELD } from './index-section.ts';
import { MANIFEST_FIELD, readManifestFile } from './manifest-file.ts';
import { parseManifestKey } from './manifest-names.ts';
import { assertWritable } from './support.ts';
import { fieldsOf, lastField, nested, nestedAll, text, unsigned, uuidValue, type WireMessage } from './wire.ts';

/** One thing under a table's directory that a manifest names: a file's key, or the directory of an index (ends in `/`). */
export interface Reference {
  readonly name: string;
  /** Bytes as the manifest records them; undefined where it does not. */
  readonly bytes?: number;
}

/** The newest field of `Manifest` that is understood here. */
const LAST_MANIFEST_FIELD = 21;
/** 5, 7 and 9 are row ids and version sequences inside of the manifest; 6, 8 and 10 would name further files. */
const FRAGMENT_FIELDS = new Set([1, 2, 3, 4, 5, 7, 9]);
const BASE_ID = 7;
const INDEX_BASE_ID = 9;
const STABLE_ROW_IDS = 2;

/**
 * Every file that a version needs, read from its manifest alone and without decoding what else stands there.
 * Throws `MANIFEST_UNREADABLE` on damage and `MANIFEST_UNSUPPORTED` where the answer might not be complete: unknown flags, fields,
 * formats, files under another base path. Takes detached manifests too.
 */
export function referencesOf(key: string, bytes: Uint8Array): readonly Reference[] {
  const { manifest, indexSection } = readManifestFile(key, bytes);
  const indexes = indexSection ? nestedAll(indexSection, 1, 'IndexMetadata') : [];
  judge(key, manifest, indexes);
  const references: Reference[] = [];
  for (const fragment of nestedAll(manifest, MANIFEST_FIELD.fragments, 'DataFragment')) {
    addFragment(fragment, references);
  }
  for (const index of indexes) addIndex(index, references);
  const transaction = text(manifest, MANIFEST_FIELD.transactionFile);
  if (transaction) references.push({ name: `_transactions/${transaction}` });
  return references;
}

function judge(key: string, manifest: WireMessage, indexes: readonly WireMessage[]): void {
  const named = parseManifestKey(key);
  if (named) {
    const version = unsigned(manifest, MANIFEST_FIELD.version);
    if (version !== named.version) {
      const at = lastField(manifest, MANIFEST_FIELD.version)?.start ?? manifest.start;
      throw unreadable('MANIFEST_UNREADABLE', key, at, `version ${named.version} as in the name, found ${version}`);
    }
  }
  const readerFlags = unsigned(manifest, MANIFEST_FIELD.readerFlags);
  const writerFlags = unsigned(manifest, MANIFEST_FIELD.writerFlags);
  const branch = text(manifest, MANIFEST_FIELD.branch);
  const format = lastField(manifest, MANIFEST_FIELD.dataFormat);
  assertWritable({
    key,
    version: named?.version ?? 0,
    naming: named?.naming ?? 'V2',
    readerFlags,
    writerFlags,
    ...(branch !== undefined && { branch }),
    basePaths: fieldsOf(manifest, MANIFEST_FIELD.basePaths).length,
    stableRowIds: [readerFlags, writerFlags].some((flags) => Math.floor(flags / STABLE_ROW_IDS) % 2 === 1),
    dataFormatVersion: (format && text(nested(manifest, format, 'DataFormat'), 2)) ?? '',
    indexes: indexes.map((index) => ({ name: text(index, INDEX_FIELD.name) ?? '' })),
  });
  assertKnownFields(manifest, (number) => number <= LAST_MANIFEST_FIELD);
}

/** A field that is not known may name a file. */
function assertKnownFields(message: WireMessage, isKnown: (number: number) => boolean): void {
  const unknown = message.fields.find((field) => !isKnown(field.number));
  if (!unknown) return;
  const found = `holds field ${unknown.number} of ${message.name}, which may name further files`;
  throw unsupported(message.source.file, found, 'fields that are known', { offset: unknown.start });
}

function assertOwnBase(message: WireMessage, number: number): void {
  if (!lastField(message, number)) return;
  throw unsupported(message.source.file, `names a ${message.name} under another base path`, 'tables in one directory');
}

function addFragment(fragment: WireMessage, references: Reference[]): void {
  assertKnownFields(fragment, (number) => FRAGMENT_FIELDS.has(number));
  for (const file of nestedAll(fragment, 2, 'DataFile')) {
    assertOwnBase(file, BASE_ID);
    const bytes = unsigned(file, 6);
    references.push({ name: `data/${text(file, 1) ?? ''}`, ...(bytes > 0 && { bytes }) });
  }
  const field = lastField(fragment, 3);
  if (!field) return;
  const deletion = nested(fragment, field, 'DeletionFile');
  assertOwnBase(deletion, BASE_ID);
  references.push({ name: deletionKey(unsigned(fragment, 1), deletion) });
}

function addIndex(index: WireMessage, references: Reference[]): void {
  assertOwnBase(index, INDEX_BASE_ID);
  const field = lastField(index, INDEX_FIELD.uuid);
  if (!field) return;
  let bytes = 0;
  for (const file of nestedAll(index, INDEX_FIELD.files, 'IndexFile')) bytes += unsigned(file, 2);
  references.push({ name: `_indices/${uuidValue(index, field)}/`, ...(bytes > 0 && { bytes }) });
}
