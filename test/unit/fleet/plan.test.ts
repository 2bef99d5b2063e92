import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { type PlanInput, plan } from '../../../src/fleet/plan.ts';
import type { DemandRule, Verdict } from '../../../src/fleet/verdict.ts';
import type { TaskKind } from '../../../src/tasks/task.ts';
import { healthOf, openTask } from '../../fixtures/facts.ts';

const settings = loadSettings({});

function dueVerdict(kind: TaskKind, rule: DemandRule): Verdict {
  return { kind, rule, threshold: 1, value: 2, unit: 'rows', due: true, because: `${rule} is due.` };
}

const compact = dueVerdict('Compact', 'fragments-small');
const missing = dueVerdict('IndexId', 'key-index-missing');
const uncovered = dueVerdict('IndexId', 'key-index-uncovered');
const merge = dueVerdict('MergeWal', 'wal-pending');

function kinds(verdicts: readonly Verdict[], input: Partial<PlanInput> = {}): TaskKind[] {
  return plan('/db/t.lance', verdicts, { settings, health: {}, openTasks: [], ...input }).map(({ kind }) => kind);
}

describe('a plan', () => {
  it('has one request for each kind that is due, with the first due rule as its reason', () => {
    const quiet = { ...dueVerdict('Compact', 'deleted-share'), due: false };
    const also = dueVerdict('MergeWal', 'wal-bytes');
    expect(plan('/db/t.lance', [quiet, merge, also], { settings, health: {}, openTasks: [] })).toEqual([
      { kind: 'MergeWal', target: '/db/t.lance', reason: 'wal-pending: wal-pending is due.' },
    ]);
  });

  it('is empty when nothing is due', () => {
    expect(kinds([compact, missing, merge].map((verdict) => ({ ...verdict, due: false })))).toEqual([]);
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

  it('asks for coverage beside a merge, since a merge does not extend a BTree', () => {
    expect(kinds([uncovered, merge])).toEqual(['IndexId', 'MergeWal']);
  });

  it('leaves the extension of indexes to a compaction, and the key index to the extension', () => {
    const indices = dueVerdict('OptimizeIndices', 'index-tail');
    expect(kinds([indices])).toEqual(['OptimizeIndices']);
    expect(kinds([compact, indices])).toEqual(['Compact']);
    expect(kinds([uncovered, indices])).toEqual(['OptimizeIndices']);
    expect(kinds([missing, indices])).toEqual(['IndexId', 'OptimizeIndices']);
    const failing = { health: { OptimizeIndices: healthOf('OptimizeIndices', { streak: 1 }) } };
    expect(kinds([uncovered, indices], failing)).toEqual(['IndexId', 'OptimizeIndices']);
  });

  it('takes a hold for left behind only while no task runs that may have placed it', () => {
    const left = dueVerdict('OptimizeIndices', 'hold-left');
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
