import { type InspectReport, SCHEMA_VERSION } from '../plane.ts';
import type { StoreFacts } from './facts.ts';

/** The facts as `inspect --json` shows them: only the fields that are promised, times in ISO-8601. */
export function inspectReport(facts: StoreFacts): InspectReport {
  const { target, version, rows, fragments, smallFragments, bytes, keyColumn, keyIndex, wal } = facts;
  return {
    schemaVersion: SCHEMA_VERSION,
    target,
    version,
    rows,
    fragments,
    smallFragments,
    bytes,
    keyColumn,
    keyIndex: keyIndex === null ? null : promised(keyIndex),
    wal: wal === null ? null : { shards: wal.shards.map(shardReport) },
  };
}

function promised(index: NonNullable<StoreFacts['keyIndex']>): NonNullable<InspectReport['keyIndex']> {
  const { name, kind, coveredFragments, uncoveredFragments, unindexedRows } = index;
  return { name, kind, coveredFragments, uncoveredFragments, unindexedRows };
}

type Shard<Report extends { wal: unknown }> =
  NonNullable<Report['wal']> extends { shards: readonly (infer One)[] } ? One : never;

function shardReport(shard: Shard<StoreFacts>): Shard<InspectReport> {
  const { shardId, watermark, pendingGenerations, pendingRows, pendingBytes, oldestPending } = shard;
  const oldest = oldestPending === null ? null : new Date(oldestPending).toISOString();
  return { shardId, watermark, pendingGenerations, pendingRows, pendingBytes, oldestPending: oldest };
}
