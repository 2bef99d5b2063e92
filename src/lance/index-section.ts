import { unsupported } from './errors.ts';
import { decodeMemWalDetails, type MemWalDetails } from './mem-wal-details.ts';
import { decodeRoaring } from './roaring.ts';
import {
  bytesValue,
  lastField,
  nested,
  nestedAll,
  optionalUnsigned,
  signedList,
  text,
  unsigned,
  uuidValue,
  type WireMessage,
} from './wire.ts';

/** Field numbers of `IndexMetadata`. */
export const INDEX_FIELD = {
  uuid: 1,
  fields: 2,
  name: 3,
  datasetVersion: 4,
  bitmap: 5,
  details: 6,
  createdAt: 8,
  files: 10,
} as const;

export const MEM_WAL_INDEX = '__lance_mem_wal';
export const FRAGMENT_REUSE_INDEX = '__lance_frag_reuse';

const KINDS = ['BTree', 'Bitmap', 'ZoneMap', 'Inverted', 'LabelList', 'NGram', 'BloomFilter', 'Json', 'FM'] as const;
const OTHER_KINDS = ['MemWal', 'FragmentReuse', 'Vector'] as const;
const KIND_BY_LOWER_CASE = new Map<string, string>(
  [...KINDS, ...OTHER_KINDS].map((kind) => [kind.toLowerCase(), kind]),
);

/** One segment of one index. Several entries with one name are segments of one logical index. */
export interface IndexEntry {
  readonly name: string;
  readonly uuid: string;
  readonly fieldIds: readonly number[];
  /** From the details' type: `BTree`, `Bitmap`, `ZoneMap`, `Inverted`, `Vector`, `MemWal`, ...; `Unknown` without details. */
  readonly kind: string;
  /** The version that was read to build it. */
  readonly datasetVersion: number;
  /** Ids of covered fragments, which need not exist any more. Undefined when the writer recorded none. */
  readonly fragments: ReadonlySet<number> | undefined;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  /** Epoch milliseconds by the writer's clock. Undefined when the writer recorded none. */
  readonly createdAt?: number;
}

/** `/lance.table.BTreeIndexDetails` is `BTree`; Lance compares these without regard to case. */
export function kindOfTypeUrl(typeUrl: string): string {
  const bare = typeUrl.slice(Math.max(typeUrl.lastIndexOf('/'), typeUrl.lastIndexOf('.')) + 1);
  const kind = bare.replace(/IndexDetails$/i, '');
  return KIND_BY_LOWER_CASE.get(kind.toLowerCase()) ?? (kind === '' ? 'Unknown' : kind);
}

function detailsOf(entry: WireMessage): { typeUrl: string; value: WireMessage | undefined } {
  const field = lastField(entry, INDEX_FIELD.details);
  if (!field) return { typeUrl: '', value: undefined };
  const any = nested(entry, field, 'Any');
  const value = lastField(any, 2);
  return { typeUrl: text(any, 1) ?? '', value: value && nested(any, value, 'IndexDetails') };
}

function decodeEntry(message: WireMessage, kind: string): IndexEntry {
  const uuid = lastField(message, INDEX_FIELD.uuid);
  const bitmap = lastField(message, INDEX_FIELD.bitmap);
  // An empty value stands for "not recorded"; an empty bitmap has a cookie.
  const createdAt = optionalUnsigned(message, INDEX_FIELD.createdAt);
  const recorded = bitmap && bytesValue(message, bitmap).length > 0;
  return {
    name: text(message, INDEX_FIELD.name) ?? '',
    uuid: uuid ? uuidValue(message, uuid) : '',
    fieldIds: signedList(message, INDEX_FIELD.fields),
    kind,
    datasetVersion: unsigned(message, INDEX_FIELD.datasetVersion),
    fragments: recorded ? decodeRoaring(message.source, bitmap.valueStart, bitmap.end) : undefined,
    files: nestedAll(message, INDEX_FIELD.files, 'IndexFile').map((file) => ({
      path: text(file, 1) ?? '',
      bytes: optionalUnsigned(file, 2) ?? 0,
    })),
    ...(createdAt !== undefined && { createdAt }),
  };
}

export interface DecodedIndexes {
  readonly indexes: readonly IndexEntry[];
  readonly memWal: MemWalDetails | undefined;
}

export function decodeIndexSection(section: WireMessage): DecodedIndexes {
  const indexes: IndexEntry[] = [];
  let memWal: MemWalDetails | undefined;
  for (const message of nestedAll(section, 1, 'IndexMetadata')) {
    const name = text(message, INDEX_FIELD.name);
    // Only the MemWAL details are ours to read; the value of other kinds may be of any shape.
    const isMemWal = name === MEM_WAL_INDEX;
    const details = isMemWal ? detailsOf(message) : { typeUrl: typeUrlOf(message), value: undefined };
    if (isMemWal) {
      if (memWal) throw unsupported(section.source.file, `holds two ${MEM_WAL_INDEX} entries`, 'one');
      memWal = details.value
        ? decodeMemWalDetails(details.value)
        : { compacted: new Map(), catchUp: new Map(), shardingSpecs: [], maintainedIndexes: [] };
    }
    indexes.push(decodeEntry(message, kindOfTypeUrl(details.typeUrl)));
  }
  return { indexes, memWal };
}

function typeUrlOf(entry: WireMessage): string {
  const field = lastField(entry, INDEX_FIELD.details);
  return field ? (text(nested(entry, field, 'Any'), 1) ?? '') : '';
}
