import { unsupported } from './errors.ts';
import { encodeIndexCommit, type ManifestCommit } from './index-commit.ts';
import { INDEX_FIELD, MEM_WAL_INDEX } from './index-section.ts';
import type { Progress, TableManifest } from './manifest.ts';
import { readManifestFile } from './manifest-file.ts';
import { decodeProgressEntry, MEM_WAL_FIELD } from './mem-wal-details.ts';
import { OPERATION_FIELD } from './transaction.ts';
import { fieldsOf, lastField, nested, text, type WireMessage } from './wire.ts';
import { bytesField, concatBytes, rawField, textField, uuidField, varintField, withFields } from './wire-writer.ts';

export type WatermarkCommit = ManifestCommit;

export interface WatermarkChange {
  /** Highest merged generation by shard id. */
  readonly watermarks: Progress;
  /** Highest generation that an index covers, by index name. */
  readonly catchUp?: ReadonlyMap<string, Progress>;
  /** Epoch milliseconds: the new version's timestamp. */
  readonly now: number;
  /** The version that the transaction says it read; default that of the manifest. An earlier one after lost races. */
  readonly readVersion?: number;
  /** Fresh ones: of the transaction, and of the MemWAL index entry. */
  readonly uuids: { readonly transaction: string; readonly index: string };
}

function progressEntry(number: number, shardId: string, generation: number): Uint8Array {
  return bytesField(number, concatBytes([uuidField(1, shardId), varintField(2, generation)]));
}

/** The `CompactedSsTable` entries of field `number`, raised to `wanted`, never lowered; unknown fields stay. */
function raisedProgress(message: WireMessage, number: number, wanted: Progress): Uint8Array {
  const open = new Map(wanted);
  const parts = fieldsOf(message, number).map((field) => {
    const entry = nested(message, field, 'CompactedSsTable');
    const { shardId, generation } = decodeProgressEntry(entry);
    const target = wanted.get(shardId);
    open.delete(shardId);
    if (target === undefined || target <= generation) return rawField(message, field);
    return bytesField(number, withFields(entry, new Map([[2, varintField(2, target)]])));
  });
  for (const [shardId, generation] of open) parts.push(progressEntry(number, shardId, generation));
  return concatBytes(parts);
}

function raisedCatchUp(details: WireMessage, catchUp: ReadonlyMap<string, Progress>): Uint8Array {
  const number = MEM_WAL_FIELD.catchUp;
  const open = new Map(catchUp);
  const parts = fieldsOf(details, number).map((field) => {
    const entry = nested(details, field, 'IndexCatchup');
    const name = text(entry, 1) ?? '';
    const wanted = catchUp.get(name);
    open.delete(name);
    if (!wanted) return rawField(details, field);
    return bytesField(number, withFields(entry, new Map([[2, raisedProgress(entry, 2, wanted)]])));
  });
  for (const [name, wanted] of open) {
    const entries = [...wanted].map(([shardId, generation]) => progressEntry(2, shardId, generation));
    parts.push(bytesField(number, concatBytes([textField(1, name), ...entries])));
  }
  return concatBytes(parts);
}

function raisedDetails(entry: WireMessage, change: WatermarkChange): Uint8Array {
  const anyField = lastField(entry, INDEX_FIELD.details);
  const any = anyField && nested(entry, anyField, 'Any');
  const valueField = any && lastField(any, 2);
  if (!any || !valueField) {
    throw unsupported(entry.source.file, `holds ${MEM_WAL_INDEX} without details`, 'MemWalIndexDetails');
  }
  const details = nested(any, valueField, 'MemWalIndexDetails');
  const changes = new Map([
    [MEM_WAL_FIELD.compacted as number, raisedProgress(details, MEM_WAL_FIELD.compacted, change.watermarks)],
  ]);
  if (change.catchUp?.size) changes.set(MEM_WAL_FIELD.catchUp, raisedCatchUp(details, change.catchUp));
  const value = withFields(details, changes);
  return bytesField(INDEX_FIELD.details, withFields(any, new Map([[2, bytesField(2, value)]])));
}

function raisedIndexSection(section: WireMessage, version: number, change: WatermarkChange): Uint8Array {
  return concatBytes(
    section.fields.map((field) => {
      if (field.number !== 1) return rawField(section, field);
      const entry = nested(section, field, 'IndexMetadata');
      if (text(entry, INDEX_FIELD.name) !== MEM_WAL_INDEX) return rawField(section, field);
      // A new id and dataset version, as Lance itself writes when it replaces this entry.
      const changes = new Map([
        [INDEX_FIELD.uuid as number, uuidField(INDEX_FIELD.uuid, change.uuids.index)],
        [INDEX_FIELD.datasetVersion, varintField(INDEX_FIELD.datasetVersion, version)],
        [INDEX_FIELD.details, raisedDetails(entry, change)],
      ]);
      return bytesField(1, withFields(entry, changes));
    }),
  );
}

/**
 * The next version of a table, equal to `manifest` but for its watermarks. Every field that is not named here, known or
 * not, keeps its bytes and place. Throws `MANIFEST_UNSUPPORTED` when the table has no LSM write spec.
 */
export function encodeWatermarkCommit(manifest: TableManifest, change: WatermarkChange): WatermarkCommit {
  const { indexSection } = readManifestFile(manifest.key, manifest.bytes);
  if (!indexSection || !manifest.memWal) {
    throw unsupported(manifest.key, 'has no LSM write spec any more', `an index entry ${MEM_WAL_INDEX}`);
  }
  const entries = [...change.watermarks].map(([shardId, generation]) => progressEntry(5, shardId, generation));
  return encodeIndexCommit(manifest, {
    indexSection: raisedIndexSection(indexSection, manifest.version + 1, change),
    // Of all operations an Update with nothing but `compacted_sstables` is the one that stale writers rebase over.
    operation: { field: OPERATION_FIELD.update, value: concatBytes(entries) },
    now: change.now,
    readVersion: change.readVersion ?? manifest.version,
    transactionUuid: change.uuids.transaction,
  });
}
