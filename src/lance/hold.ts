import { encodeIndexCommit, type ManifestCommit } from './index-commit.ts';
import { INDEX_FIELD, type IndexEntry } from './index-section.ts';
import type { TableManifest } from './manifest.ts';
import { readManifestFile } from './manifest-file.ts';
import { encodeRoaring } from './roaring-encoder.ts';
import { OPERATION_FIELD } from './transaction.ts';
import { nested, text, type WireMessage } from './wire.ts';
import { bytesField, concatBytes, rawField, textField, uuidField, varintField } from './wire-writer.ts';

/*
 * A hold is an index entry of a type that Lance does not know, over the fragments that a compaction must leave alone:
 *
 *   fragments   0    1    2    3    4    5
 *   hold        x    x              x    x     -> optimize() rewrites 2 and 3 at most
 *
 * Lance never combines fragments that different index entries cover, and rewrites none that an entry covers whose rows
 * it cannot remap. Readers and writers ignore the entry.
 */

/** Name of the index entry that keeps optimize() off fragments. */
export const HOLD_INDEX = '__lance_upkeep_hold';
const HOLD_TYPE_URL = '/lance_upkeep.HoldDetails';
const CREATE_INDEX = { new: 1, removed: 2 } as const;

/** A hold as a manifest shows it. */
export interface Hold {
  /** Of its index entry: a new one each time a hold is placed. */
  readonly uuid: string;
  /** When it was placed, epoch milliseconds by the clock of whoever placed it; 0 when that is not recorded. */
  readonly createdAt: number;
  /** Ids of the held fragments, which need not exist any more. */
  readonly fragments: ReadonlySet<number>;
}

/** The hold in a manifest; undefined when there is none. The first one, should a stranger have made two. */
export function holdIn(manifest: TableManifest): Hold | undefined {
  const entry = manifest.indexes.find(isHold);
  return entry && { uuid: entry.uuid, createdAt: entry.createdAt ?? 0, fragments: entry.fragments ?? new Set() };
}

export function isHold({ name }: Pick<IndexEntry, 'name'>): boolean {
  return name === HOLD_INDEX;
}

export interface HoldChange {
  /** Ids of the fragments to hold; undefined takes the hold away. */
  readonly held: readonly number[] | undefined;
  /** Epoch milliseconds: the new version's timestamp. */
  readonly now: number;
  /** When the hold was asked for, epoch milliseconds; default `now`. The same in every attempt, as the transaction is. */
  readonly createdAt?: number;
  /** The version that the transaction says it read; default that of the manifest. */
  readonly readVersion?: number;
  /** Fresh ones: of the transaction, and of the hold's index entry. */
  readonly uuids: { readonly transaction: string; readonly index: string };
}

/**
 * The next version of a table, equal to `manifest` but for its hold: placed, replaced or taken away. All other index
 * entries keep their bytes. The transaction is a CreateIndex, which concurrent writers rebase over.
 */
export function encodeHoldCommit(manifest: TableManifest, change: HoldChange): ManifestCommit {
  const { indexSection } = readManifestFile(manifest.key, manifest.bytes);
  const kept: Uint8Array[] = [];
  const removed: Uint8Array[] = [];
  for (const entry of indexSection?.fields ?? []) {
    const message = indexSection as WireMessage;
    const isOurs = entry.number === 1 && text(nested(message, entry, 'IndexMetadata'), INDEX_FIELD.name) === HOLD_INDEX;
    if (isOurs) removed.push(message.source.bytes.subarray(entry.valueStart, entry.end));
    else kept.push(rawField(message, entry));
  }
  const readVersion = change.readVersion ?? manifest.version;
  const placed = change.held && holdEntry(readVersion, change.held, change);
  const entries = placed ? [...kept, bytesField(1, placed)] : kept;
  return encodeIndexCommit(manifest, {
    indexSection: entries.length > 0 ? concatBytes(entries) : undefined,
    operation: {
      field: OPERATION_FIELD.createIndex,
      value: concatBytes([
        ...(placed ? [bytesField(CREATE_INDEX.new, placed)] : []),
        ...removed.map((entry) => bytesField(CREATE_INDEX.removed, entry)),
      ]),
    },
    now: change.now,
    readVersion,
    transactionUuid: change.uuids.transaction,
  });
}

function holdEntry(version: number, held: readonly number[], { now, createdAt = now, uuids }: HoldChange): Uint8Array {
  return concatBytes([
    uuidField(INDEX_FIELD.uuid, uuids.index),
    textField(INDEX_FIELD.name, HOLD_INDEX),
    varintField(INDEX_FIELD.datasetVersion, version),
    bytesField(INDEX_FIELD.bitmap, encodeRoaring(held)),
    bytesField(INDEX_FIELD.details, textField(1, HOLD_TYPE_URL)),
    varintField(INDEX_FIELD.createdAt, createdAt),
  ]);
}
