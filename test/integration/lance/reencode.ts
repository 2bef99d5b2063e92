import { readManifestFile, writeManifestFile } from '../../../src/lance/manifest-file.ts';
import {
  lastField,
  messageAt,
  nested,
  varintFieldBits,
  type WireField,
  type WireMessage,
} from '../../../src/lance/wire.ts';
import { bytesField, concatBytes, fixedField, varintField } from '../../../src/lance/wire-writer.ts';

/** Which fields of a message are messages in turn. */
interface Shape {
  readonly [field: number]: Shape;
}

const leaf: Shape = {};
const uuid: Shape = leaf;
const progress: Shape = { 1: uuid };
const memWal: Shape = { 7: { 2: { 6: leaf } }, 9: progress, 10: { 2: progress } };
const indexEntry: Shape = { 1: uuid, 6: leaf, 10: leaf };
const memWalEntry: Shape = { ...indexEntry, 6: { 2: memWal } };
const fragment: Shape = { 2: leaf, 3: leaf };
const manifestShape: Shape = { 1: { 10: leaf }, 2: fragment, 7: leaf, 13: leaf, 15: leaf, 16: leaf };
const transactionShape: Shape = { 108: { 2: fragment, 3: fragment, 5: progress } };

const MEM_WAL_NAME = '__lance_mem_wal';

function encodeField(message: WireMessage, field: WireField, shape: Shape): Uint8Array {
  const value = message.source.bytes.subarray(field.valueStart, field.end);
  if (field.type === 0) return varintField(field.number, varintFieldBits(message, field));
  if (field.type !== 2) return fixedField(field.number, value);
  const inner = shape[field.number];
  return bytesField(field.number, inner ? encodeMessage(nested(message, field, 'Nested'), inner) : value);
}

function encodeMessage(message: WireMessage, shape: Shape): Uint8Array {
  return concatBytes(message.fields.map((field) => encodeField(message, field, shape)));
}

function encodeIndexSection(section: WireMessage): Uint8Array {
  return concatBytes(
    section.fields.map((field) => {
      const entry = nested(section, field, 'IndexMetadata');
      const name = lastField(entry, 3);
      const isMemWal =
        name && Buffer.from(entry.source.bytes.subarray(name.valueStart, name.end)).toString() === MEM_WAL_NAME;
      return encodeField(section, field, { 1: isMemWal ? memWalEntry : indexEntry });
    }),
  );
}

/**
 * Takes a manifest file apart down to its single values and writes every tag, length, number, section offset and the
 * trailer anew. Equal bytes mean that nothing is lost, reordered or spelled otherwise on the way.
 */
export function reencodeManifest(bytes: Uint8Array): Uint8Array {
  const file = readManifestFile('re-encoded', bytes);
  return writeManifestFile({
    indexSection: file.indexSection && encodeIndexSection(file.indexSection),
    transaction: file.transaction && encodeMessage(file.transaction, transactionShape),
    manifest: encodeMessage(file.manifest, manifestShape),
    footer: file.footer,
  });
}

/** The same for a shard manifest. */
export function reencodeShardManifest(bytes: Uint8Array): Uint8Array {
  const source = { file: 're-encoded', bytes, code: 'SHARD_MANIFEST_UNREADABLE' } as const;
  return encodeMessage(messageAt(source, 0, bytes.length, 'ShardManifest'), { 8: leaf, 11: uuid, 14: leaf });
}
