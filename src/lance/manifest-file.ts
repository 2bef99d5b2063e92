import { unreadable } from './errors.ts';
import { lastField, messageAt, unsignedValue, type WireMessage, type WireSource } from './wire.ts';
import { concatBytes } from './wire-writer.ts';

/*
 * [u32 length][IndexSection]   where Manifest field 6 points, only with an index
 * [u32 length][Transaction]    where Manifest field 21 points
 * [u32 length][Manifest]       at position P
 * [u64 P][u16 major][u16 minor]["LANC"]
 */
const TRAILER_BYTES = 16;
const FOOTER_BYTES = 8;
const MAGIC = 'LANC';

export const MANIFEST_FIELD = {
  fields: 1,
  fragments: 2,
  version: 3,
  indexSection: 6,
  timestamp: 7,
  tag: 8,
  readerFlags: 9,
  writerFlags: 10,
  transactionFile: 12,
  dataFormat: 15,
  config: 16,
  basePaths: 18,
  branch: 20,
  transactionSection: 21,
} as const;

/** The three messages of a manifest file. `footer` is its last 8 bytes: file version and magic. */
export interface ManifestFile {
  readonly source: WireSource;
  readonly manifest: WireMessage;
  readonly indexSection: WireMessage | undefined;
  readonly transaction: WireMessage | undefined;
  readonly footer: Uint8Array;
}

function viewOf(source: WireSource): DataView {
  return new DataView(source.bytes.buffer, source.bytes.byteOffset, source.bytes.byteLength);
}

function section(source: WireSource, pointer: WireMessage, number: number, limit: number, name: string) {
  const field = lastField(pointer, number);
  if (!field) return undefined;
  const offset = unsignedValue(pointer, field);
  if (offset + 4 > limit) {
    throw unreadable(source.code, source.file, field.start, `the offset of the ${name} to lie before byte ${limit}`);
  }
  const length = viewOf(source).getUint32(offset, true);
  if (offset + 4 + length > limit) {
    throw unreadable(source.code, source.file, offset, `the length of the ${name} to end by byte ${limit}`);
  }
  return messageAt(source, offset + 4, offset + 4 + length, name);
}

/** Splits a whole manifest file. Throws `MANIFEST_UNREADABLE` when it is cut, padded or inconsistent. */
export function readManifestFile(file: string, bytes: Uint8Array): ManifestFile {
  const source: WireSource = { file, bytes, code: 'MANIFEST_UNREADABLE' };
  const trailer = bytes.length - TRAILER_BYTES;
  if (trailer < 4) {
    throw unreadable(source.code, file, bytes.length, `at least ${TRAILER_BYTES + 4} bytes, found ${bytes.length}`);
  }
  const footer = bytes.subarray(bytes.length - FOOTER_BYTES);
  const magic = String.fromCharCode(...footer.subarray(4));
  if (magic !== MAGIC) throw unreadable(source.code, file, bytes.length - 4, `the magic "${MAGIC}" at the end`);
  const view = viewOf(source);
  const position = Number(view.getBigUint64(trailer, true));
  if (position + 4 > trailer) {
    throw unreadable(source.code, file, trailer, `the manifest's position to lie before byte ${trailer}`);
  }
  const length = view.getUint32(position, true);
  if (position + 4 + length !== trailer) {
    throw unreadable(
      source.code,
      file,
      position,
      `the manifest's length to be ${trailer - position - 4}, found ${length}`,
    );
  }
  const manifest = messageAt(source, position + 4, trailer, 'Manifest');
  return {
    source,
    manifest,
    indexSection: section(source, manifest, MANIFEST_FIELD.indexSection, position, 'IndexSection'),
    transaction: section(source, manifest, MANIFEST_FIELD.transactionSection, position, 'Transaction'),
    footer,
  };
}

/** Offsets of the sections that `writeManifestFile` will lay out, for the pointers inside the Manifest message. */
export function sectionOffsets(parts: { indexSection: Uint8Array | undefined }): {
  indexSection: number;
  transaction: number;
} {
  return { indexSection: 0, transaction: parts.indexSection ? 4 + parts.indexSection.length : 0 };
}

/** The inverse of `readManifestFile`: index section, transaction, manifest, in that order. */
export function writeManifestFile(parts: {
  readonly indexSection: Uint8Array | undefined;
  readonly transaction: Uint8Array | undefined;
  readonly manifest: Uint8Array;
  readonly footer: Uint8Array;
}): Uint8Array {
  const chunks: Uint8Array[] = [];
  let position = 0;
  for (const message of [parts.indexSection, parts.transaction]) {
    if (!message) continue;
    chunks.push(lengthPrefix(message.length), message);
    position += 4 + message.length;
  }
  const trailer = new Uint8Array(8);
  new DataView(trailer.buffer).setBigUint64(0, BigInt(position), true);
  chunks.push(lengthPrefix(parts.manifest.length), parts.manifest, trailer, parts.footer);
  return concatBytes(chunks);
}

function lengthPrefix(length: number): Uint8Array {
  const prefix = new Uint8Array(4);
  new DataView(prefix.buffer).setUint32(0, length, true);
  return prefix;
}
