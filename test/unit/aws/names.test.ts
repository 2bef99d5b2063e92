import { describe, expect, it } from 'vitest';
import {
  CLOUD_VARIABLES,
  type CloudNames,
  environmentOf,
  namesFromEnvironment,
  namesFromOutputs,
  outputsOf,
} from '../../../src/aws/names.ts';
import { loadSettings } from '../../../src/config.ts';

const NAMES: CloudNames = {
  table: 'ledger',
  queues: {
    Compact: { url: 'q/compact', deadLetters: 'q/compact-dead' },
    IndexId: { url: 'q/index', deadLetters: 'q/index-dead' },
    MergeWal: { url: 'q/merge', deadLetters: 'q/merge-dead' },
    OptimizeIndices: { url: 'q/optimize', deadLetters: 'q/optimize-dead' },
    Prune: { url: 'q/prune', deadLetters: 'q/prune-dead' },
  },
};

describe('the names of a stack', () => {
  it('come back from the environment and from the outputs as they were put there', () => {
    expect(namesFromEnvironment(environmentOf(NAMES))).toEqual(NAMES);
    expect(namesFromOutputs(new Map(Object.entries(outputsOf(NAMES))), 'upkeep')).toEqual(NAMES);
  });

  it('are no typos of settings', () => {
    expect(loadSettings({ ...environmentOf(NAMES), UPKEEP_STACK: 'upkeep' }, CLOUD_VARIABLES).minFragments).toBe(16);
    expect(() => loadSettings({ UPKEEP_TABEL: 'x' }, CLOUD_VARIABLES)).toThrow(/UPKEEP_TABEL/);
  });

  it('that are missing are said by name', () => {
    const { UPKEEP_MERGE_WAL_QUEUE: _queue, ...rest } = environmentOf(NAMES);
    expect(() => namesFromEnvironment(rest)).toThrow(/UPKEEP_MERGE_WAL_QUEUE/);
    expect(() => namesFromOutputs(new Map(), 'upkeep')).toThrow(/stack upkeep has no output/);
  });
});
