import { unreadable, unsupported } from './errors.ts';
import { parseShardManifestKey, shardManifestKey } from './manifest-names.ts';
import {
  lastField,
  messageAt,
  nested,
  nestedAll,
  optionalUnsigned,
  text,
  unsigned,
  uuidValue,
  type WireMessage,
  type WireSource,
} from './wire.ts';
import { concatBytes, rawField, varintField } from './wire-writer.ts';

const FIELD = { version: 1, writerEpoch: 2, currentGeneration: 6, generations: 8, shardId: 11, status: 15 } as const;

/** One flushed, immutable run of rows of a shard. */
export interface Generation {
  readonly generation: number;
  /** Directory name under the shard, `{8 hex}_gen_{n}`. */
  readonly path: string;
  /** Bytes; each undefined when the writer did not record it. */
  readonly inMemoryBytes?: number;
  readonly physicalRows?: number;
  readonly primaryKeyBytes?: number;
}

export interface ShardManifest {
  readonly shardId: string;
  readonly version: number;
  readonly key: string;
  readonly writerEpoch: number;
  /** The number that the next flushed generation gets. */
  readonly currentGeneration: number;
  /** Ascending. */
  readonly generations: readonly Generation[];
  readonly status: 'ACTIVE' | 'SEALED';
  /** The whole file. */
  readonly bytes: Uint8Array;
}

function decodeGeneration(message: WireMessage): Generation {
  const inMemoryBytes = optionalUnsigned(message, 3);
  const physicalRows = optionalUnsigned(message, 4);
  const primaryKeyBytes = optionalUnsigned(message, 5);
  const path = text(message, 2) ?? '';
  if (!/^[A-Za-z0-9_.-]+$/.test(path) || path.startsWith('.')) {
    const { source, start } = message;
    throw unreadable(source.code, source.file, start, `a directory name as the generation's path, found "${path}"`);
  }
  return {
    generation: unsigned(message, 1),
    path,
    ...(inMemoryBytes !== undefined && { inMemoryBytes }),
    ...(physicalRows !== undefined && { physicalRows }),
    ...(primaryKeyBytes !== undefined && { primaryKeyBytes }),
  };
}

function wholeFile(key: string, bytes: Uint8Array): WireMessage {
  const source: WireSource = { file: key, bytes, code: 'SHARD_MANIFEST_UNREADABLE' };
  return messageAt(source, 0, bytes.length, 'ShardManifest');
}

/**
 * Decodes `_mem_wal/<shardId>/manifest/<bits>.binpb`. Throws `SHARD_MANIFEST_UNREADABLE` on damage, also when the file
 * speaks of another version or shard than its key, and `MANIFEST_UNSUPPORTED` for a status that is not known.
 */
export function decodeShardManifest(shardId: string, key: string, bytes: Uint8Array): ShardManifest {
  const message = wholeFile(key, bytes);
  const { source } = message;
  const version = unsigned(message, FIELD.version);
  const named = parseShardManifestKey(key);
  if (version !== named) {
    const at = lastField(message, FIELD.version)?.start ?? 0;
    throw unreadable(source.code, key, at, `version ${named} as in the name, found ${version}`);
  }
  const idField = lastField(message, FIELD.shardId);
  const statedId = idField && uuidValue(message, idField);
  if (statedId !== shardId) {
    throw unreadable(source.code, key, idField?.start ?? 0, `shard id ${shardId}, found ${statedId ?? 'none'}`);
  }
  const status = unsigned(message, FIELD.status);
  if (status > 1) throw unsupported(key, `has shard status ${status}`, '0 (ACTIVE) and 1 (SEALED)');
  const generations = nestedAll(message, FIELD.generations, 'SsTable').map(decodeGeneration);
  return {
    shardId,
    version,
    key,
    writerEpoch: unsigned(message, FIELD.writerEpoch),
    currentGeneration: unsigned(message, FIELD.currentGeneration),
    generations: generations.sort((a, b) => a.generation - b.generation),
    status: status === 1 ? 'SEALED' : 'ACTIVE',
    bytes,
  };
}

/**
 * The next version of a shard manifest without some generations. Everything else keeps its bytes, the writer's epoch
 * above all: a drain must look to the live writer like one of its own updates.
 */
export function drainedShardManifest(
  manifest: ShardManifest,
  merged: ReadonlySet<number>,
): { readonly key: string; readonly version: number; readonly bytes: Uint8Array } {
  const message = wholeFile(manifest.key, manifest.bytes);
  const version = manifest.version + 1;
  const parts = message.fields.flatMap((field) => {
    if (field.number === FIELD.version) return [varintField(FIELD.version, version)];
    const isMerged = field.number === FIELD.generations && merged.has(unsigned(nested(message, field, 'SsTable'), 1));
    return isMerged ? [] : [rawField(message, field)];
  });
  return { key: shardManifestKey(manifest.shardId, version), version, bytes: concatBytes(parts) };
}
