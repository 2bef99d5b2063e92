import { describe, expect, it } from 'vitest';
import { inspectReport } from '../../../src/upkeep/inspect-report.ts';
import { indexFacts, keyIndexFacts, shardFacts, tableFacts, versionFacts } from '../../fixtures/facts.ts';

describe('the inspect report', () => {
  it('holds exactly the promised fields, with times in ISO-8601', () => {
    const shard = shardFacts({
      pendingGenerations: 2,
      pendingRows: 9,
      pendingBytes: 99,
      oldestPending: 0,
      watermark: 4,
    });
    const facts = tableFacts({
      wal: { shards: [shard, shardFacts()] },
      keyIndex: keyIndexFacts({ unindexedRows: 3 }),
      indexes: [
        indexFacts({
          name: 'id_idx',
          kind: 'BTree',
          columns: ['id'],
          rowsOutside: 250,
          uncoveredFragments: 1,
          firstFragmentOutside: 3,
          outsideSince: 0,
        }),
      ],
      hold: { createdAt: 1, heldFragments: 2 },
      versions: versionFacts({ count: 40, prunable: 30, prunableBytes: 5_000, oldest: 0 }),
    });
    expect(inspectReport(facts)).toEqual({
      schemaVersion: 1,
      target: '/db/t.lance',
      version: 7,
      rows: 1000,
      fragments: 1,
      smallFragments: 0,
      bytes: 1_000_000,
      keyColumn: 'id',
      keyIndex: {
        name: 'id_idx',
        kind: 'BTree',
        coveredFragments: 1,
        uncoveredFragments: 0,
        unindexedRows: 3,
        filesMissing: false,
      },
      indexes: [
        {
          name: 'id_idx',
          kind: 'BTree',
          columns: ['id'],
          segments: 1,
          rowsOutside: 250,
          shareOutside: 0.25,
          uncoveredFragments: 1,
          filesMissing: false,
          outsideSince: '1970-01-01T00:00:00.000Z',
          bytes: 10_000,
          generationsBehind: 0,
        },
      ],
      hold: { since: '1970-01-01T00:00:00.001Z', heldFragments: 2 },
      error: null,
      wal: {
        shards: [
          {
            shardId: shard.shardId,
            watermark: 4,
            pendingGenerations: 2,
            pendingRows: 9,
            pendingBytes: 99,
            oldestPending: '1970-01-01T00:00:00.000Z',
          },
          {
            shardId: shard.shardId,
            watermark: 0,
            pendingGenerations: 0,
            pendingRows: 0,
            pendingBytes: 0,
            oldestPending: null,
          },
        ],
      },
      versions: {
        count: 40,
        prunable: 30,
        prunableBytes: 5_000,
        oldest: '1970-01-01T00:00:00.000Z',
        retentionMs: 604_800_000,
        countedAt: '1970-01-01T00:16:40.000Z',
        refused: null,
      },
    });
  });

  it('has null where there is no key column, no index and no MemWAL', () => {
    const report = inspectReport(tableFacts({ keyColumn: null, keyIndex: null }));
    expect(report).toMatchObject({ keyColumn: null, keyIndex: null, wal: null, versions: null });
  });
});
