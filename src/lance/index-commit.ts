import type { TableManifest } from './manifest.ts';
import { MANIFEST_FIELD, readManifestFile, sectionOffsets, writeManifestFile } from './manifest-file.ts';
import { manifestKey } from './manifest-names.ts';
import { bytesField, concatBytes, textField, varintField, withFields } from './wire-writer.ts';

/** The two objects of one commit, ready to be put: the transaction first, then the manifest if it is absent. */
export interface ManifestCommit {
  readonly version: number;
  readonly manifestKey: string;
  readonly manifestBytes: Uint8Array;
  readonly transactionKey: string;
  readonly transactionBytes: Uint8Array;
}

export interface IndexCommit {
  /** The whole IndexSection message of the new version. Undefined when it lists no index. */
  readonly indexSection: Uint8Array | undefined;
  /** The operation of the transaction: its field number in `Transaction`, and its message. */
  readonly operation: { readonly field: number; readonly value: Uint8Array };
  /** Epoch milliseconds: the new version's timestamp. */
  readonly now: number;
  /** The version that the transaction says it read. An earlier one than that of the manifest after lost races. */
  readonly readVersion: number;
  /** A fresh one. */
  readonly transactionUuid: string;
}

/**
 * The next version of a table, equal to `manifest` but for its index section. Every other field, known or not, keeps its
 * bytes and place.
 */
export function encodeIndexCommit(manifest: TableManifest, commit: IndexCommit): ManifestCommit {
  const { indexSection, operation, readVersion, transactionUuid } = commit;
  const file = readManifestFile(manifest.key, manifest.bytes);
  const version = manifest.version + 1;
  const transaction = concatBytes([
    varintField(1, readVersion),
    textField(2, transactionUuid),
    bytesField(operation.field, operation.value),
  ]);
  const transactionName = `${readVersion}-${transactionUuid}.txn`;
  const offsets = sectionOffsets({ indexSection });
  const changed = withFields(
    file.manifest,
    new Map<number, Uint8Array | null>([
      [MANIFEST_FIELD.version, varintField(MANIFEST_FIELD.version, version)],
      [
        MANIFEST_FIELD.indexSection,
        indexSection ? varintField(MANIFEST_FIELD.indexSection, offsets.indexSection) : null,
      ],
      [MANIFEST_FIELD.timestamp, timestampField(commit.now)],
      // A tag names the version it was set on, not this one.
      [MANIFEST_FIELD.tag, null],
      [MANIFEST_FIELD.transactionFile, textField(MANIFEST_FIELD.transactionFile, transactionName)],
      [MANIFEST_FIELD.transactionSection, varintField(MANIFEST_FIELD.transactionSection, offsets.transaction)],
    ]),
  );
  return {
    version,
    manifestKey: manifestKey(version, 'V2'),
    manifestBytes: writeManifestFile({ indexSection, transaction, manifest: changed, footer: file.footer }),
    transactionKey: `_transactions/${transactionName}`,
    transactionBytes: transaction,
  };
}

function timestampField(now: number): Uint8Array {
  const nanoseconds = (now % 1000) * 1_000_000;
  const parts = [varintField(1, Math.floor(now / 1000))];
  if (nanoseconds > 0) parts.push(varintField(2, nanoseconds));
  return bytesField(MANIFEST_FIELD.timestamp, concatBytes(parts));
}
