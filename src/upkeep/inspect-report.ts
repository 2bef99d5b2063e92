import type { TableFacts, VersionFacts } from '../fleet/facts.ts';
import { type InspectReport, SCHEMA_VERSION } from './reports.ts';

/** The facts as `inspect --json` shows them: only the fields that are promised, times in ISO-8601. */
export function inspectReport(facts: TableFacts): InspectReport {
  const { target, version, rows, fragments, smallFragments, bytes, keyColumn, keyIndex, hold, wal } = facts;
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
    indexes: facts.indexes.map((index) => indexReport(index, facts)),
    hold: hold === null ? null : { since: iso(hold.createdAt), heldFragments: hold.heldFragments },
    wal: wal === null ? null : { shards: wal.shards.map(shardReport) },
    versions: facts.versions === undefined ? null : versionsReport(facts.versions),
    error: facts.error ?? null,
  };
}

function versionsReport(versions: VersionFacts): NonNullable<InspectReport['versions']> {
  const { count, prunable, prunableBytes, oldest, retentionMs, measuredAt, refused } = versions;
  return {
    count,
    prunable,
    prunableBytes,
    oldest: new Date(oldest).toISOString(),
    retentionMs,
    countedAt: new Date(measuredAt).toISOString(),
    refused: refused ?? null,
  };
}

function indexReport(index: TableFacts['indexes'][number], { rows }: TableFacts): InspectReport['indexes'][number] {
  const { name, kind, columns, segments, rowsOutside, uncoveredFragments, outsideSince, bytes, generationsBehind } =
    index;
  return {
    name,
    kind,
    columns,
    segments,
    rowsOutside,
    shareOutside: rows === 0 ? 0 : rowsOutside / rows,
    uncoveredFragments,
    filesMissing: index.filesMissing === true,
    outsideSince: outsideSince === null ? null : iso(outsideSince),
    bytes,
    generationsBehind,
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function promised(index: NonNullable<TableFacts['keyIndex']>): NonNullable<InspectReport['keyIndex']> {
  const { name, kind, coveredFragments, uncoveredFragments, unindexedRows } = index;
  const filesMissing = index.filesMissing === true;
  return { name, kind, coveredFragments, uncoveredFragments, unindexedRows, filesMissing };
}

type Shard<Report extends { wal: unknown }> =
  NonNullable<Report['wal']> extends { shards: readonly (infer One)[] } ? One : never;

function shardReport(shard: Shard<TableFacts>): Shard<InspectReport> {
  const { shardId, watermark, pendingGenerations, pendingRows, pendingBytes, oldestPending } = shard;
  const oldest = oldestPending === null ? null : iso(oldestPending);
  return { shardId, watermark, pendingGenerations, pendingRows, pendingBytes, oldestPending: oldest };
}
