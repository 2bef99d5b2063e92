import { unreadable } from './errors.ts';
import { decodeFragment, type Fragment } from './fragments.ts';
import { decodeIndexSection, type IndexEntry } from './index-section.ts';
import { MANIFEST_FIELD, readManifestFile } from './manifest-file.ts';
import { type ManifestNaming, parseManifestKey } from './manifest-names.ts';
import type { MemWalDetails } from './mem-wal-details.ts';
import { decodeField, type Field } from './schema-fields.ts';
import { type CommitTransaction, decodeTransaction } from './transaction.ts';
import { fieldsOf, lastField, nested, nestedAll, signed, text, unsigned, type WireMessage } from './wire.ts';

export type { DataFile, Fragment } from './fragments.ts';
export type { IndexEntry } from './index-section.ts';
export type { ManifestNaming } from './manifest-names.ts';
export type { MemWalDetails, Progress, ShardingField, ShardingSpec } from './mem-wal-details.ts';
export type { Field } from './schema-fields.ts';
export type { CommitTransaction } from './transaction.ts';

/** One version of a table, as its manifest tells it. Nothing else has been read. */
export interface TableManifest {
  readonly key: string;
  readonly version: number;
  /** When it was committed, epoch milliseconds by the writer's clock. */
  readonly timestamp: number;
  readonly naming: ManifestNaming;
  /** The whole file. */
  readonly bytes: Uint8Array;
  readonly fragments: readonly Fragment[];
  readonly fields: readonly Field[];
  /** Bit sets; see `assertReadable`. */
  readonly readerFlags: number;
  readonly writerFlags: number;
  readonly indexes: readonly IndexEntry[];
  /** Undefined when no LSM write spec is set. */
  readonly memWal: MemWalDetails | undefined;
  readonly branch?: string;
  /** How many base paths other than the table's own directory. */
  readonly basePaths: number;
  readonly stableRowIds: boolean;
  /** `2.2`, `2.1`, ...; `0.1` for the legacy format. */
  readonly dataFormatVersion: string;
  readonly transaction?: CommitTransaction;
  readonly liveRows: number;
  readonly physicalRows: number;
  readonly deletedRows: number;
  /** Sum of the known sizes of all data files, bytes. */
  readonly dataBytes: number;
}

const STABLE_ROW_IDS_FLAG = 2;

function decodeTimestamp(manifest: WireMessage): number {
  const field = lastField(manifest, MANIFEST_FIELD.timestamp);
  if (!field) return 0;
  const timestamp = nested(manifest, field, 'Timestamp');
  return unsigned(timestamp, 1) * 1000 + Math.floor(signed(timestamp, 2) / 1_000_000);
}

function dataFormatVersion(manifest: WireMessage): string {
  const field = lastField(manifest, MANIFEST_FIELD.dataFormat);
  return (field && text(nested(manifest, field, 'DataFormat'), 2)) ?? '';
}

function totals(fragments: readonly Fragment[]) {
  let physicalRows = 0;
  let deletedRows = 0;
  let dataBytes = 0;
  for (const fragment of fragments) {
    physicalRows += fragment.physicalRows;
    deletedRows += fragment.deletedRows;
    for (const file of fragment.files) dataBytes += file.bytes ?? 0;
  }
  return { physicalRows, deletedRows, liveRows: physicalRows - deletedRows, dataBytes };
}

/**
 * Decodes the manifest at `key` from the whole file.
 * Throws `MANIFEST_UNREADABLE` on damage and `MANIFEST_UNSUPPORTED` on numbers above 2^53 - 1.
 * Feature flags are not rechecked here: see `assertReadable` and `assertWritable`.
 */
export function decodeManifest(key: string, bytes: Uint8Array): TableManifest {
  const named = parseManifestKey(key);
  if (!named) throw unreadable('MANIFEST_UNREADABLE', key, 0, 'a key of the form _versions/<version>.manifest');
  const file = readManifestFile(key, bytes);
  const { manifest } = file;
  const version = unsigned(manifest, MANIFEST_FIELD.version);
  if (version !== named.version) {
    const at = lastField(manifest, MANIFEST_FIELD.version)?.start ?? manifest.start;
    throw unreadable('MANIFEST_UNREADABLE', key, at, `version ${named.version} as in the name, found ${version}`);
  }
  const fragments = nestedAll(manifest, MANIFEST_FIELD.fragments, 'DataFragment').map(decodeFragment);
  const readerFlags = unsigned(manifest, MANIFEST_FIELD.readerFlags);
  const writerFlags = unsigned(manifest, MANIFEST_FIELD.writerFlags);
  const branch = text(manifest, MANIFEST_FIELD.branch);
  return {
    key,
    version,
    timestamp: decodeTimestamp(manifest),
    naming: named.naming,
    bytes,
    fragments,
    fields: nestedAll(manifest, MANIFEST_FIELD.fields, 'Field').map(decodeField),
    readerFlags,
    writerFlags,
    ...(file.indexSection ? decodeIndexSection(file.indexSection) : { indexes: [], memWal: undefined }),
    ...(branch !== undefined && { branch }),
    basePaths: fieldsOf(manifest, MANIFEST_FIELD.basePaths).length,
    stableRowIds: hasBit(readerFlags, STABLE_ROW_IDS_FLAG) || hasBit(writerFlags, STABLE_ROW_IDS_FLAG),
    dataFormatVersion: dataFormatVersion(manifest),
    ...(file.transaction && { transaction: decodeTransaction(file.transaction) }),
    ...totals(fragments),
  };
}

/** Flags may exceed 32 bits, where `&` would wrap. */
function hasBit(flags: number, bit: number): boolean {
  return Math.floor(flags / bit) % 2 === 1;
}
