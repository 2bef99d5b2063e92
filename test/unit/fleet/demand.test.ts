import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { demand } from '../../../src/fleet/demand.ts';
import type { TableFacts } from '../../../src/fleet/facts.ts';
import type { DemandInput, DemandRule, RuleResult } from '../../../src/fleet/rule-result.ts';
import { healthOf, keyIndexFacts, shardFacts, tableFacts, versionFacts } from '../../fixtures/facts.ts';

const settings = loadSettings({});
const now = 100_000_000;
const tailInterval = settings.mergeWalTailIntervalMs;

function judge(changes: Partial<TableFacts>, input: Partial<DemandInput> = {}): readonly RuleResult[] {
  return demand(tableFacts(changes), { settings, health: {}, now, ...input });
}

function result(rule: DemandRule, changes: Partial<TableFacts>, input: Partial<DemandInput> = {}): RuleResult {
  const found = judge(changes, input).find((one) => one.rule === rule);
  if (found === undefined) throw new Error(`no result of ${rule}`);
  return found;
}

function due(changes: Partial<TableFacts>, input: Partial<DemandInput> = {}): DemandRule[] {
  return judge(changes, input).flatMap((one) => (one.due ? one.rule : []));
}

function wal(...shards: Parameters<typeof shardFacts>[0][]) {
  return { wal: { shards: shards.map(shardFacts) } };
}

describe('demand', () => {
  it('asks nothing of a healthy store, and still says a whole sentence for each rule', () => {
    const results = judge(wal({}));
    expect(results.map((one) => one.rule)).toEqual([
      'fragments-small',
      'deleted-share',
      'key-index-missing',
      'key-index-wrong-kind',
      'key-index-uncovered',
      'index-rows',
      'index-share',
      'index-tail',
      'index-catch-up',
      'hold-left',
      'wal-pending',
      'wal-bytes',
      'wal-tail',
      'wal-garbage',
    ]);
    for (const one of results) {
      expect(one.due).toBe(false);
      expect(one.reason).toMatch(/^[A-Z0-9].*[^.]\.$/);
    }
  });

  it('has a due rule exactly where the value reaches the threshold', () => {
    const sick = judge({
      compactableFragments: 20,
      keyIndex: null,
      ...wal({ pendingGenerations: 9, oldestPending: 0, mergedGenerations: 1, garbageDue: true }),
    });
    for (const one of sick) expect([one.rule, one.due]).toEqual([one.rule, one.value >= one.threshold]);
  });

  it('applies the rules of its sweep only', () => {
    const kinds = (sweep: DemandInput['sweep']) =>
      new Set(judge(wal({}), sweep === undefined ? {} : { sweep }).map((one) => one.kind));
    expect(kinds('compaction')).toEqual(new Set(['Compact', 'IndexId', 'OptimizeIndices']));
    expect(kinds('merge')).toEqual(new Set(['MergeWal']));
    expect(kinds('tails')).toEqual(new Set(['OptimizeIndices', 'MergeWal']));
    expect(kinds('all')).toEqual(new Set(['Compact', 'IndexId', 'MergeWal', 'OptimizeIndices']));
    expect(kinds(undefined)).toEqual(kinds('all'));
  });
});

describe('the rules of compactions', () => {
  it('ask from MIN_FRAGMENTS fragments on that a compaction would really rewrite', () => {
    expect(due({ compactableFragments: 15, smallFragments: 40 })).toEqual([]);
    expect(result('fragments-small', { compactableFragments: 16 })).toMatchObject({
      due: true,
      threshold: 16,
      value: 16,
      unit: 'fragments',
      reason: '16 fragments can be compacted (due from 16).',
    });
  });

  it('ask from a fifth of deleted rows on', () => {
    const deleted = (deletedRows: number) => ({ deletedRows, compactableFragments: 1 });
    expect(due(deleted(199))).toEqual([]);
    expect(due(deleted(200))).toEqual(['deleted-share']);
    expect(result('deleted-share', deleted(250)).reason).toBe('25 % of the rows are deleted (due from 20 %).');
  });

  it('do not ask for deletions that no compaction can remove, and say how many fragments are too large', () => {
    const one = result('deleted-share', { deletedRows: 300, tooLargeFragments: 2 });
    expect(one.due).toBe(false);
    expect(one.reason).toContain('no fragment can be rewritten; 2 fragments more would have to be rewritten beyond');
  });

  it('count an empty table as without deleted rows', () => {
    expect(result('deleted-share', { physicalRows: 0, rows: 0 })).toMatchObject({ value: 0, due: false });
  });

  it('S29: do not ask again while the last compaction rewrote nothing at this same version', () => {
    const facts = { version: 7, compactableFragments: 30, deletedRows: 400 };
    const lastAt = (versionAfter: number, rewroteNothing: boolean) => ({
      health: {
        Compact: healthOf('Compact', {
          lastSuccess: { at: 0, taskId: 'c', versionBefore: versionAfter, versionAfter, rewroteNothing },
        }),
      },
    });
    expect(due(facts, lastAt(7, true))).toEqual([]);
    expect(result('fragments-small', facts, lastAt(7, true)).reason).toContain(
      'rewrote nothing at this same version 7',
    );
    expect(due(facts, lastAt(6, true))).toEqual(['fragments-small', 'deleted-share']);
    expect(due(facts, lastAt(7, false))).toEqual(['fragments-small', 'deleted-share']);
  });
});

describe('the rules of the key index', () => {
  it('ask for a missing index, except where there is no key or no row', () => {
    expect(due({ keyIndex: null })).toEqual(['key-index-missing']);
    expect(due({ keyIndex: null, rows: 0 })).toEqual([]);
    expect(due({ keyIndex: null, keyColumn: null })).toEqual([]);
    expect(result('key-index-missing', { keyIndex: null, keyColumn: null }).reason).toContain('no key column');
  });

  it('ask for a BTree where an index of another kind stands, by the kind', () => {
    const bitmap = { keyIndex: keyIndexFacts({ kind: 'Bitmap', exact: false, unindexedRows: 5 }) };
    expect(due(bitmap)).toEqual(['key-index-wrong-kind']);
    expect(result('key-index-wrong-kind', bitmap).reason).toContain('id_idx on id is of kind Bitmap');
  });

  it('ask for a BTree where its name is taken by an index on another column', () => {
    const taken = { keyIndex: keyIndexFacts({ kind: 'OtherColumn', exact: false }) };
    expect(result('key-index-wrong-kind', taken)).toMatchObject({
      due: true,
      reason: 'The name id_idx is taken by an index that is not on id alone.',
    });
  });

  it('ask for coverage from the first uncovered row on', () => {
    const partly = { keyIndex: keyIndexFacts({ uncoveredFragments: 1, unindexedRows: 1 }) };
    expect(due(partly)).toEqual(['key-index-uncovered']);
    expect(result('key-index-uncovered', partly)).toMatchObject({ value: 1, threshold: 1, unit: 'rows' });
  });
});

describe('the rules of the MemWAL', () => {
  it('ask from MERGE_WAL_MIN_GENERATIONS on, counted over all shards', () => {
    const spread = (last: number) => wal({ pendingGenerations: 4 }, { pendingGenerations: last });
    expect(due(spread(3))).toEqual([]);
    expect(due(spread(4))).toEqual(['wal-pending']);
  });

  it('ask from MERGE_MAX_BYTES on, however few the generations', () => {
    const bytes = settings.mergeMaxBytes;
    expect(due(wal({ pendingGenerations: 1, pendingBytes: bytes - 1 }))).toEqual([]);
    expect(due(wal({ pendingGenerations: 1, pendingBytes: bytes }))).toEqual(['wal-bytes']);
    expect(result('wal-bytes', wal({ pendingBytes: bytes })).reason).toBe(
      '256 MiB pending in generations (due from 256 MiB).',
    );
  });

  it('S17: ask for a tail in the sweep of the tails, and in any sweep once it is older than the interval', () => {
    const tail = (age: number) => wal({ pendingGenerations: 1, pendingBytes: 10, oldestPending: now - age });
    expect(due(tail(0), { sweep: 'tails' })).toEqual(['wal-tail']);
    expect(due(tail(0), { sweep: 'all' })).toEqual(['wal-tail']);
    expect(due(tail(tailInterval - 1), { sweep: 'merge' })).toEqual([]);
    expect(due(tail(tailInterval), { sweep: 'merge' })).toEqual(['wal-tail']);
    expect(due(tail(tailInterval))).toEqual(['wal-tail']);
    expect(due(wal({}), { sweep: 'tails' })).toEqual([]);
  });

  it('S18: ask for what a writer that is gone has left, whichever shard it was', () => {
    const left = wal({}, { pendingGenerations: 2, oldestPending: now - 30 * 86_400_000 });
    expect(due(left, { sweep: 'merge' })).toEqual(['wal-tail']);
    expect(result('wal-tail', left).reason).toContain('the oldest for 30 days');
  });

  it('ask for the garbage of merged generations once it is due', () => {
    expect(due(wal({ mergedGenerations: 8 }))).toEqual([]);
    expect(result('wal-garbage', wal({ mergedGenerations: 8 })).reason).toContain('within the retention of 60 min');
    expect(due(wal({ mergedGenerations: 8, garbageDue: true }))).toEqual(['wal-garbage']);
  });

  it('do not count generations behind a missing one, and say so', () => {
    const blocked = (before: number) =>
      wal({
        pendingGenerations: before + 20,
        blockedGenerations: 20,
        missingGeneration: before + 1,
        pendingBytes: 1024 ** 3,
        oldestPending: 0,
      });
    expect(due(blocked(0), { sweep: 'tails' })).toEqual([]);
    expect(result('wal-pending', blocked(0)).reason).toContain('20 more generations cannot be merged');
    expect(due(blocked(8), { sweep: 'merge' })).toEqual(['wal-pending', 'wal-tail']);
  });
});

describe('a table with a feature that is not supported', () => {
  it('is asked for nothing, and the results say why', () => {
    const error = { code: 'MANIFEST_UNSUPPORTED', message: 'x', disposition: 'permanent' } as const;
    const facts = { compactableFragments: 30, keyIndex: null, ...wal({ pendingGenerations: 30 }), error };
    expect(due(facts, { sweep: 'all' })).toEqual([]);
    expect(result('fragments-small', facts).reason).toContain('not supported');
    expect(due({ ...facts, error: { ...error, code: 'GENERATION_MISSING' } })).not.toEqual([]);
  });
});

describe('the rules of old versions', () => {
  const day = 86_400_000;
  const old = (changes: Parameters<typeof versionFacts>[0]) => ({
    versions: versionFacts({
      count: 500,
      prunable: 1,
      oldestPrunable: now - 7 * day,
      measuredAt: now - 1000,
      ...changes,
    }),
  });

  it('ask for a prune from so many versions, so many bytes, or so much time past the retention', () => {
    expect(due(old({}))).toEqual([]);
    expect(due(old({ prunable: 99 }))).toEqual([]);
    expect(due(old({ prunable: 100 }))).toEqual(['versions-count']);
    expect(due(old({ prunableBytes: settings.pruneMinBytes }))).toEqual(['versions-bytes']);
    expect(due(old({ oldestPrunable: now - 8 * day }))).toEqual(['versions-age']);
    expect(due(old({ oldestPrunable: now - 8 * day + 1000 }))).toEqual([]);
    expect(judge(old({ prunable: 100 })).find((one) => one.due)?.kind).toBe('Prune');
  });

  it("measure the age from the table's own retention", () => {
    expect(due(old({ oldestPrunable: now - 20 * day, retentionMs: 30 * day }))).toEqual([]);
    expect(due(old({ oldestPrunable: now - 31 * day, retentionMs: 30 * day }))).toEqual(['versions-age']);
  });

  it('are applied in the sweeps of the tails and of all, and when explaining', () => {
    const facts = old({ prunable: 100 });
    for (const sweep of ['tails', 'all', undefined] as const) {
      expect(due(facts, sweep === undefined ? {} : { sweep })).toEqual(['versions-count']);
    }
    for (const sweep of ['merge', 'compaction'] as const) expect(due(facts, { sweep })).toEqual([]);
  });

  it('do not ask again on numbers that were counted before the last prune', () => {
    const pruned = (at: number) => ({
      health: {
        Prune: healthOf('Prune', {
          lastSuccess: { at, taskId: 'p', versionBefore: 7, versionAfter: 7, rewroteNothing: false },
        }),
      },
    });
    const facts = old({ prunable: 100 });
    expect(due(facts, pruned(now))).toEqual([]);
    expect(due(facts, pruned(now - 5000))).toEqual(['versions-count']);
  });

  it('say why a table is not pruned, and say nothing while its versions were not counted', () => {
    const refused = result('versions-count', old({ prunable: 100, refused: 'x is a branch of this table.' }));
    expect(refused).toMatchObject({
      due: false,
      reason: 'Old versions cannot be pruned: x is a branch of this table.',
    });
    expect(judge({}).some((one) => one.kind === 'Prune')).toBe(false);
    for (const one of judge(old({ oldestPrunable: null }))) expect(one.reason).toMatch(/^[A-Z0-9].*[^.]\.$/);
  });
});
