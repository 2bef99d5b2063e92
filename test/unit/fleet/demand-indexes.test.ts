import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { demand } from '../../../src/fleet/demand.ts';
import type { IndexFacts, TableFacts } from '../../../src/fleet/facts.ts';
import type { DemandInput, DemandRule } from '../../../src/fleet/rule-result.ts';
import type { Health } from '../../../src/tasks/task.ts';
import { healthOf, indexFacts, keyIndexFacts, tableFacts } from '../../fixtures/facts.ts';

const settings = loadSettings({});
const now = 100_000_000;

function outside(rowsOutside: number, more: Partial<IndexFacts> = {}): IndexFacts {
  return indexFacts({ rowsOutside, uncoveredFragments: 1, firstFragmentOutside: 9, outsideSince: now - 1000, ...more });
}

function due(changes: Partial<TableFacts>, input: Partial<DemandInput> = {}): DemandRule[] {
  const results = demand(tableFacts(changes), { settings, health: {}, now, ...input });
  return results.flatMap(({ rule, kind, due: isDue }) => (isDue && kind === 'OptimizeIndices' ? rule : []));
}

function lastSuccess(changes: Partial<NonNullable<Health['lastSuccess']>>) {
  const success = { at: now - 1000, taskId: 't', versionBefore: 7, versionAfter: 7, rewroteNothing: false, ...changes };
  return { health: { OptimizeIndices: healthOf('OptimizeIndices', { lastSuccess: success }) } };
}

describe('the rules of indexes', () => {
  it('are due from 100,000 rows outside of one index, or from a tenth of all rows', () => {
    const rows = 10_000_000;
    expect(due({ rows, indexes: [outside(99_999)] })).toEqual([]);
    expect(due({ rows, indexes: [outside(1), outside(100_000, { name: 'words' })] })).toEqual(['index-rows']);
    expect(due({ rows: 1000, indexes: [outside(99)] })).toEqual([]);
    expect(due({ rows: 1000, indexes: [outside(100)] })).toEqual(['index-share']);
  });

  it('take any row outside in the sweep of the tails, and in every sweep once it has been outside for an hour', () => {
    const indexes = [outside(1)];
    expect(due({ indexes }, { sweep: 'compaction' })).toEqual([]);
    expect(due({ indexes }, { sweep: 'tails' })).toEqual(['index-tail']);
    expect(due({ indexes }, { sweep: 'all' })).toEqual(['index-tail']);
    const old = [outside(1, { outsideSince: now - settings.indexTailIntervalMs })];
    expect(due({ indexes: old }, { sweep: 'compaction' })).toEqual(['index-tail']);
  });

  it('leave the index on the key to the rules of its own, but not one on another column under its name', () => {
    const behind = [outside(500, { name: 'id_idx', kind: 'BTree' })];
    expect(due({ indexes: behind }, { sweep: 'all' })).toEqual([]);
    const bitmap = keyIndexFacts({ kind: 'Bitmap', exact: false });
    expect(due({ indexes: behind, keyIndex: bitmap }, { sweep: 'all' })).toEqual([]);
    const other = keyIndexFacts({ kind: 'OtherColumn', exact: false });
    expect(due({ indexes: behind, keyIndex: other }, { sweep: 'all' })).toEqual(['index-share', 'index-tail']);
  });

  it('let merged generations go that wait for an index', () => {
    const indexes = [indexFacts({ generationsBehind: 3 })];
    expect(due({ indexes }, { sweep: 'tails' })).toEqual(['index-catch-up']);
    expect(due({ indexes }, { sweep: 'compaction' })).toEqual([]);
  });

  it('are not due again while the last pass found nothing to do at the same version', () => {
    const indexes = [outside(900)];
    expect(due({ indexes, version: 7 }, lastSuccess({ rewroteNothing: true }))).toEqual([]);
    expect(due({ indexes, version: 8 }, lastSuccess({ rewroteNothing: true }))).toEqual(['index-share']);
  });

  it('pass over an index that could not be extended, go on with the others, and try it again after a day', () => {
    const problem = { subject: 'words', code: 'X', message: 'x', disposition: 'permanent' as const };
    const words = outside(900, { name: 'words' });
    const input = { ...lastSuccess({ problems: [problem] }), sweep: 'all' } as const;
    expect(due({ indexes: [words] }, input)).toEqual([]);
    expect(due({ indexes: [words, outside(1)] }, input)).toEqual(['index-tail']);
    const later = { ...input, now: now + 24 * 3_600_000 };
    expect(due({ indexes: [words] }, later)).toEqual(['index-share', 'index-tail']);
  });

  it('ask for a hold to be taken away', () => {
    expect(due({ hold: { createdAt: now - 5000, heldFragments: 3 } }, { sweep: 'compaction' })).toEqual(['hold-left']);
  });
});
