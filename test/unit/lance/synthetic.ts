import { writeManifestFile } from '../../../src/lance/manifest-file.ts';
import { manifestKey } from '../../../src/lance/manifest-names.ts';
import type { ObjectStore, ObjectSummary } from '../../../src/lance/object-store.ts';
import { bytesField, concatBytes, textField, uuidField, varintField } from '../../../src/lance/wire-writer.ts';

export const SHARD_A = 'aa48498d-ac91-59e2-8452-69f46010ace2';
export const SHARD_B = '11111111-2222-5333-8444-555555555555';
export const FOOTER = Uint8Array.from([0, 0, 2, 0, ...Buffer.from('LANC')]);
const INT32_MINUS_ONE = 2n ** 64n - 1n;

export interface FragmentFields {
  readonly id: number;
  readonly rows: number;
  readonly deleted?: number;
  /** Bytes of its one file; 0 for unknown. */
  readonly bytes?: number;
}

export interface IndexFields {
  readonly name: string;
  readonly fieldIds: readonly number[];
  readonly typeUrl?: string;
  readonly details?: Uint8Array;
  /** Ids in its bitmap; `empty` for a bitmap of no bytes, which is what a writer without one leaves. */
  readonly covers?: readonly number[] | 'empty';
}

export interface ManifestFields {
  readonly version?: number;
  readonly fragments?: readonly FragmentFields[];
  /** Name of each column by field id; a `*` in front declares it as primary key. */
  readonly columns?: readonly string[];
  readonly indexes?: readonly IndexFields[];
  readonly readerFlags?: number | bigint;
  readonly writerFlags?: number | bigint;
  readonly timestampMs?: number;
  /** Field number of the transaction's operation. */
  readonly operation?: number;
  readonly transactionUuid?: string;
  readonly dataFormat?: string;
  /** Appended to the Manifest message as they are. */
  readonly extra?: readonly Uint8Array[];
}

/** Fragment ids below 65536, at most 4096 of them: one array container. */
export function smallRoaring(ids: readonly number[]): Uint8Array {
  if (ids.length === 0) return Uint8Array.from([0x3a, 0x30, 0, 0, 0, 0, 0, 0]);
  const bytes = Buffer.alloc(16 + ids.length * 2);
  bytes.writeUInt32LE(12346, 0);
  bytes.writeUInt32LE(1, 4);
  bytes.writeUInt16LE(ids.length - 1, 10);
  bytes.writeUInt32LE(16, 12);
  for (const [index, id] of ids.entries()) bytes.writeUInt16LE(id, 16 + index * 2);
  return bytes;
}

function fragmentField(parts: FragmentFields): Uint8Array {
  const dataFile = concatBytes([
    textField(1, `${parts.id}.lance`),
    bytesField(2, Uint8Array.from([0, 1])),
    varintField(4, 2),
    varintField(6, parts.bytes ?? 1000),
  ]);
  const deletion = concatBytes([varintField(2, 3), varintField(3, 2n ** 63n + 5n), varintField(4, parts.deleted ?? 0)]);
  return bytesField(
    2,
    concatBytes([
      ...(parts.id === 0 ? [] : [varintField(1, parts.id)]),
      bytesField(2, dataFile),
      ...(parts.deleted ? [bytesField(3, deletion)] : []),
      varintField(4, parts.rows),
    ]),
  );
}

function columnField(name: string, id: number): Uint8Array {
  const declared = name.startsWith('*');
  const key = concatBytes([
    bytesField(
      10,
      concatBytes([textField(1, 'lance-schema:unenforced-primary-key:position'), textField(2, String(id + 1))]),
    ),
    varintField(12, 1),
    varintField(13, id + 1),
  ]);
  return bytesField(
    1,
    concatBytes([
      textField(2, name.replace('*', '')),
      varintField(3, id),
      varintField(4, INT32_MINUS_ONE),
      textField(5, 'string'),
      ...(declared ? [key] : [varintField(6, 1)]),
    ]),
  );
}

function indexField(parts: IndexFields, position: number): Uint8Array {
  const uuid = `00000000-0000-4000-8000-${String(position).padStart(12, '0')}`;
  const any = concatBytes([
    textField(1, parts.typeUrl ?? '/lance.table.BTreeIndexDetails'),
    bytesField(2, parts.details ?? new Uint8Array()),
  ]);
  return bytesField(
    1,
    concatBytes([
      uuidField(1, uuid),
      ...(parts.fieldIds.length > 0 ? [bytesField(2, Uint8Array.from(parts.fieldIds))] : []),
      textField(3, parts.name),
      varintField(4, 1),
      ...(parts.covers
        ? [bytesField(5, parts.covers === 'empty' ? new Uint8Array() : smallRoaring(parts.covers))]
        : []),
      bytesField(6, any),
      bytesField(10, concatBytes([textField(1, 'page_data.lance'), varintField(2, 77)])),
    ]),
  );
}

/** `MemWalIndexDetails` with a field that this version does not know, and the given watermarks. */
export function memWalDetails(
  watermarks: Readonly<Record<string, number>>,
  catchUp: Record<string, Record<string, number>> = {},
): Uint8Array {
  const entry = (number: number, [shard, generation]: [string, number]) =>
    bytesField(number, concatBytes([uuidField(1, shard), varintField(2, generation), textField(9, 'unknown')]));
  return concatBytes([
    varintField(2, 1),
    textField(8, 'id_idx'),
    ...Object.entries(watermarks).map((pair) => entry(9, pair)),
    ...Object.entries(catchUp).map(([name, progress]) =>
      bytesField(10, concatBytes([textField(1, name), ...Object.entries(progress).map((pair) => entry(2, pair))])),
    ),
    textField(50, 'unknown detail'),
  ]);
}

export function memWalIndex(
  watermarks: Readonly<Record<string, number>>,
  catchUp?: Record<string, Record<string, number>>,
): IndexFields {
  return {
    name: '__lance_mem_wal',
    fieldIds: [],
    typeUrl: '/lance.table.MemWalIndexDetails',
    details: memWalDetails(watermarks, catchUp),
  };
}

/** A manifest file in the layout that LanceDB writes: index section, transaction, manifest, trailer. */
export function manifestBytes(parts: ManifestFields = {}): Uint8Array {
  const version = parts.version ?? 7;
  const at = parts.timestampMs ?? 1_700_000_000_123;
  const indexes = parts.indexes ?? [];
  const indexSection = indexes.length > 0 ? concatBytes(indexes.map(indexField)) : undefined;
  const transaction = concatBytes([
    varintField(1, version - 1),
    textField(2, parts.transactionUuid ?? 'txn'),
    bytesField(parts.operation ?? 100, new Uint8Array()),
  ]);
  const manifest = concatBytes([
    ...(parts.columns ?? ['*id', 'v']).map(columnField),
    ...(parts.fragments ?? []).map(fragmentField),
    varintField(3, version),
    ...(indexSection ? [varintField(6, 0)] : []),
    bytesField(7, concatBytes([varintField(1, Math.floor(at / 1000)), varintField(2, (at % 1000) * 1_000_000)])),
    textField(8, 'a tag'),
    ...(parts.readerFlags ? [varintField(9, parts.readerFlags)] : []),
    ...(parts.writerFlags ? [varintField(10, parts.writerFlags)] : []),
    varintField(11, 9),
    textField(12, `${version - 1}-txn.txn`),
    bytesField(15, concatBytes([textField(1, 'lance'), textField(2, parts.dataFormat ?? '2.2')])),
    varintField(21, indexSection ? 4 + indexSection.length : 0),
    ...(parts.extra ?? []),
  ]);
  return writeManifestFile({ indexSection, transaction, manifest, footer: FOOTER });
}

export function v2Key(version: number): string {
  return manifestKey(version, 'V2');
}

export interface MemoryStore extends ObjectStore {
  readonly objects: Map<string, Uint8Array>;
  /** Every call, as `list <prefix>`, `get <key>`, ... */
  readonly calls: string[];
}

export function memoryStore(initial: Readonly<Record<string, Uint8Array>> = {}): MemoryStore {
  const objects = new Map(Object.entries(initial));
  const calls: string[] = [];
  const summary = (key: string, bytes: Uint8Array): ObjectSummary => ({ key, size: bytes.length, modified: 0 });
  return {
    uri: '/memory/t.lance',
    objects,
    calls,
    async get(key) {
      calls.push(`get ${key}`);
      return objects.get(key);
    },
    async getRange(key, start, length) {
      return objects.get(key)?.subarray(start, start + length);
    },
    async head(key) {
      const bytes = objects.get(key);
      return bytes && summary(key, bytes);
    },
    async list(prefix, options = {}) {
      calls.push(`list ${prefix}`);
      const found: ObjectSummary[] = [];
      const prefixes = new Set<string>();
      for (const [key, bytes] of [...objects].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (!key.startsWith(prefix) || key <= (options.startAfter ?? '')) continue;
        const cut = options.delimiter ? key.indexOf('/', prefix.length) : -1;
        if (cut >= 0) prefixes.add(key.slice(0, cut + 1));
        else if (found.length === options.maxKeys) return { objects: found, prefixes: [...prefixes], truncated: true };
        else found.push(summary(key, bytes));
      }
      return { objects: found, prefixes: [...prefixes], truncated: false };
    },
    async putIfAbsent(key, bytes) {
      calls.push(`put ${key}`);
      if (objects.has(key)) return 'exists';
      objects.set(key, bytes);
      return 'created';
    },
    async delete(key) {
      calls.push(`delete ${key}`);
      objects.delete(key);
    },
  };
}
