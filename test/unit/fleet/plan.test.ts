import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { type PlanInput, plan } from '../../../src/fleet/plan.ts';
import type { DemandRule, RuleResult } from '../../../src/fleet/rule-result.ts';
import type { TaskKind } from '../../../src/tasks/task.ts';
import { healthOf, keyIndexFacts, openTask, shardFacts, tableFacts } from '../../fixtures/facts.ts';

const settings = loadSettings({});

function dueResult(kind: TaskKind, rule: DemandRule): RuleResult {
  return { kind, rule, threshold: 1, value: 2, unit: 'rows', due: true, reason: `${rule} is due.` };
}

const compact = dueResult('Compact', 'fragments-small');
const missing = dueResult('IndexId', 'key-index-missing');
const uncovered = dueResult('IndexId', 'key-index-uncovered');
const merge = dueResult('MergeWal', 'wal-pending');

function kinds(results: readonly RuleResult[], input: Partial<PlanInput> = {}): TaskKind[] {
  return plan('/db/t.lance', results, { settings, health: {}, openTasks: [], ...input }).map(({ kind }) => kind);
}

describe('a plan', () => {
  it('has one request for each kind that is due, with the first due rule as its reason', () => {
    const quiet = { ...dueResult('Compact', 'deleted-share'), due: false };
    const also = dueResult('MergeWal', 'wal-bytes');
    expect(plan('/db/t.lance', [quiet, merge, also], { settings, health: {}, openTasks: [] })).toEqual([
      { kind: 'MergeWal', target: '/db/t.lance', reason: 'wal-pending: wal-pending is due.' },
    ]);
  });

  it('is empty when nothing is due', () => {
    expect(kinds([compact, missing, merge].map((result) => ({ ...result, due: false })))).toEqual([]);
  });

  it('asks for a Prune beside whatever else is due, and not while one is open', () => {
    const old = dueResult('Prune', 'versions-count');
    expect(kinds([old, merge])).toEqual(['MergeWal', 'Prune']);
    expect(kinds([old], { openTasks: [openTask('Prune')] })).toEqual([]);
  });

  it('leaves the IndexId to the compaction that it follows', () => {
    expect(kinds([compact, missing])).toEqual(['Compact']);
    expect(kinds([compact, uncovered])).toEqual(['Compact']);
    expect(kinds([missing], { openTasks: [openTask('Compact')] })).toEqual([]);
  });

  it('has its own IndexId where compactions bring none', () => {
    const without = { settings: { ...settings, indexAfterCompaction: false } };
    expect(kinds([compact, missing], without)).toEqual(['Compact', 'IndexId']);
    expect(kinds([compact, missing], { health: { Compact: healthOf('Compact', { streak: 1 }) } })).toEqual([
      'Compact',
      'IndexId',
    ]);
  });

  it('leaves a missing index to the merge that builds it first, unless merges fail or do not build it', () => {
    expect(kinds([missing, merge])).toEqual(['MergeWal']);
    expect(kinds([missing, merge], { health: { MergeWal: healthOf('MergeWal', { streak: 1 }) } })).toEqual([
      'IndexId',
      'MergeWal',
    ]);
    expect(kinds([missing, merge], { settings: { ...settings, indexBeforeMerge: false } })).toEqual([
      'IndexId',
      'MergeWal',
    ]);
  });

  describe('where merges build no index', () => {
    const without = { settings: { ...settings, indexBeforeMerge: false } };
    const facts = tableFacts({ keyIndex: null });
    const requests = (results: readonly RuleResult[], input: Partial<PlanInput> = {}) =>
      plan('/db/t.lance', results, { health: {}, openTasks: [], facts, ...without, ...input }).map(
        ({ kind, after, force }) => ({ kind, after, force }),
      );

    it('lets the merge wait for the IndexId, also in a sweep of merges and beside a compaction', () => {
      const both = [{ kind: 'IndexId' }, { kind: 'MergeWal', after: ['IndexId'] }];
      expect(requests([missing, merge])).toEqual(both);
      expect(requests([merge])).toEqual(both);
      expect(requests([compact, missing, merge])).toEqual([{ kind: 'Compact' }, ...both]);
      expect(requests([merge], { openTasks: [openTask('IndexId')] })).toEqual(both.slice(1));
    });

    it('asks for the merge alone where the BTree is there, though it covers less than all', () => {
      expect(requests([merge], { facts: tableFacts() })).toEqual([{ kind: 'MergeWal' }]);
      expect(
        requests([uncovered, merge], { facts: tableFacts({ keyIndex: keyIndexFacts({ unindexedRows: 2 }) }) }),
      ).toEqual([{ kind: 'IndexId' }, { kind: 'MergeWal' }]);
    });

    it('asks for no merge that could only fail, since its IndexId has failed for good', () => {
      const error = { code: 'TYPE_UNSUPPORTED', message: 'No BTree.', disposition: 'permanent' as const };
      const health = { IndexId: healthOf('IndexId', { streak: 1, lastFailure: { at: 950_000, taskId: 'i', error } }) };
      expect(requests([missing, merge], { health, versionTimestamp: 900_000, now: 960_000 })).toEqual([]);
    });
  });

  describe('of what failed for a cause that is gone', () => {
    const at = 950_000;
    const failed = (code: string, disposition: 'failure' | 'permanent') =>
      healthOf('MergeWal', {
        streak: 3,
        cooldownUntil: at + 3_600_000,
        lastFailure: { at, taskId: 'm', error: { code, message: 'It failed.', disposition } },
      });
    const requests = (input: Partial<PlanInput>) =>
      plan('/db/t.lance', [merge], {
        settings,
        health: { MergeWal: failed('KEY_INDEX_MISSING', 'failure') },
        openTasks: [],
        facts: tableFacts(),
        versionTimestamp: 900_000,
        now: 1_000_000,
        ...input,
      }).map(({ kind, force }) => ({ kind, force }));
    const forced = [{ kind: 'MergeWal', force: true }];

    it('asks with force, so that nobody sits out a cooldown for nothing', () => {
      expect(requests({})).toEqual(forced);
      expect(requests({ openTasks: [openTask('MergeWal', { attempts: 3, notBefore: at + 60_000 })] })).toEqual(forced);
    });

    it('asks again for what had failed for good, though the table has no newer version', () => {
      const health = { MergeWal: failed('GENERATION_MISSING', 'permanent') };
      const wal = { shards: [shardFacts({ missingGeneration: 3 })] };
      expect(requests({ health, facts: tableFacts({ wal }) })).toEqual([]);
      expect(requests({ health, facts: tableFacts({ wal: { shards: [shardFacts()] } }) })).toEqual(forced);
    });

    it('waits as before while the cause is there, is not known, or was looked at before the failure', () => {
      const waiting = [openTask('MergeWal', { attempts: 3, notBefore: at + 60_000 })];
      expect(requests({ openTasks: waiting, facts: tableFacts({ keyIndex: null }) })).toEqual([]);
      expect(requests({ openTasks: waiting, health: { MergeWal: failed('LANCEDB_FAILED', 'failure') } })).toEqual([]);
      expect(requests({ openTasks: waiting, facts: tableFacts({ observedAt: at }) })).toEqual([]);
      expect(requests({ openTasks: waiting, facts: tableFacts({ numbersFrom: 1 }) })).toEqual([]);
    });

    it('leaves alone what runs, or is forced already', () => {
      expect(requests({ openTasks: [openTask('MergeWal', { state: 'running' })] })).toEqual([]);
      expect(requests({ openTasks: [openTask('MergeWal', { force: true })] })).toEqual([]);
    });
  });

  it('asks for coverage beside a merge, since a merge does not extend a BTree', () => {
    expect(kinds([uncovered, merge])).toEqual(['IndexId', 'MergeWal']);
  });

  it('leaves the extension of indexes to a compaction, and the key index to the extension', () => {
    const indices = dueResult('OptimizeIndices', 'index-tail');
    expect(kinds([indices])).toEqual(['OptimizeIndices']);
    expect(kinds([compact, indices])).toEqual(['Compact']);
    expect(kinds([uncovered, indices])).toEqual(['OptimizeIndices']);
    expect(kinds([missing, indices])).toEqual(['IndexId', 'OptimizeIndices']);
    const failing = { health: { OptimizeIndices: healthOf('OptimizeIndices', { streak: 1 }) } };
    expect(kinds([uncovered, indices], failing)).toEqual(['IndexId', 'OptimizeIndices']);
  });

  it('takes a hold for left behind only while no task runs that may have placed it', () => {
    const left = dueResult('OptimizeIndices', 'hold-left');
    expect(kinds([left])).toEqual(['OptimizeIndices']);
    for (const kind of ['Compact', 'IndexId'] as const) {
      expect(kinds([left], { openTasks: [openTask(kind, { state: 'running' })] }), kind).toEqual([]);
    }
    expect(kinds([left], { openTasks: [openTask('MergeWal', { state: 'running' })] })).toEqual(['OptimizeIndices']);
  });

  it('leaves out what is open already, in whatever state', () => {
    for (const state of ['waiting', 'queued', 'running'] as const) {
      expect(kinds([compact, merge], { openTasks: [openTask('Compact', { state })] })).toEqual(['MergeWal']);
    }
    expect(kinds([compact], { openTasks: [openTask('Compact', { state: 'done' })] })).toEqual(['Compact']);
  });
});
