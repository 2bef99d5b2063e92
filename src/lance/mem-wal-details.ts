import { unreadable } from './errors.ts';
import type { WireMessage } from './wire.ts';
import { fieldsOf, lastField, nestedAll, signedList, text, textMap, textValue, unsigned, uuidValue } from './wire.ts';

/** Field numbers of `MemWalIndexDetails`; the watermark lives in `compacted`. */
export const MEM_WAL_FIELD = { shardingSpecs: 7, maintainedIndexes: 8, compacted: 9, catchUp: 10 } as const;

export interface ShardingField {
  readonly fieldId: string;
  readonly sourceIds: readonly number[];
  /** `unsharded`, `bucket`, `identity`, ... */
  readonly transform: string;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface ShardingSpec {
  readonly specId: number;
  readonly fields: readonly ShardingField[];
}

/** Per shard id, the highest generation that is merged (watermark) or indexed (catch-up). */
export type Progress = ReadonlyMap<string, number>;

export interface MemWalDetails {
  readonly compacted: Progress;
  /** By index name. An index that is absent has caught up with nothing. */
  readonly catchUp: ReadonlyMap<string, Progress>;
  readonly shardingSpecs: readonly ShardingSpec[];
  readonly maintainedIndexes: readonly string[];
}

/** One `CompactedSsTable {1 shard, 2 generation}`. */
export function decodeProgressEntry(message: WireMessage): { shardId: string; generation: number } {
  const shard = lastField(message, 1);
  if (!shard) {
    const { source, start } = message;
    throw unreadable(source.code, source.file, start, 'a shard id in CompactedSsTable');
  }
  return { shardId: uuidValue(message, shard), generation: unsigned(message, 2) };
}

function decodeProgress(message: WireMessage, number: number): Progress {
  const progress = new Map<string, number>();
  for (const entry of nestedAll(message, number, 'CompactedSsTable')) {
    const { shardId, generation } = decodeProgressEntry(entry);
    progress.set(shardId, Math.max(generation, progress.get(shardId) ?? 0));
  }
  return progress;
}

function decodeShardingSpec(message: WireMessage): ShardingSpec {
  return {
    specId: unsigned(message, 1),
    fields: nestedAll(message, 2, 'ShardingField').map((field) => ({
      fieldId: text(field, 1) ?? '',
      sourceIds: signedList(field, 2),
      transform: text(field, 3) ?? '',
      parameters: textMap(field, 6, 'ShardingField.parameters'),
    })),
  };
}

export function decodeMemWalDetails(message: WireMessage): MemWalDetails {
  const catchUp = new Map<string, Progress>();
  for (const entry of nestedAll(message, MEM_WAL_FIELD.catchUp, 'IndexCatchup')) {
    catchUp.set(text(entry, 1) ?? '', decodeProgress(entry, 2));
  }
  return {
    compacted: decodeProgress(message, MEM_WAL_FIELD.compacted),
    catchUp,
    shardingSpecs: nestedAll(message, MEM_WAL_FIELD.shardingSpecs, 'ShardingSpec').map(decodeShardingSpec),
    maintainedIndexes: fieldsOf(message, MEM_WAL_FIELD.maintainedIndexes).map((field) => textValue(message, field)),
  };
}
