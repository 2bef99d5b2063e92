import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSettings, type SettingDefinition, settingDefinitions } from '../../src/config.ts';

describe('settings', () => {
  it('take their defaults in an environment that names none of them', () => {
    expect(loadSettings({ PATH: '/usr/bin', HOME: '/root', LANG: 'C' })).toEqual({
      roots: [],
      indexAfterCompaction: true,
      indexBeforeMerge: true,
      compactConcurrency: 10,
      indexIdConcurrency: 10,
      mergeWalConcurrency: 4,
      optimizeIndicesConcurrency: 4,
      pruneConcurrency: 2,
      minFragments: 16,
      mergeWalMinGenerations: 8,
      mergeMaxGenerations: 8,
      mergeMaxBytes: 256 * 1024 ** 2,
      mergeSliceBytes: 8 * 1024 ** 2,
      generationRetentionMs: 3_600_000,
      compactMaxBytes: 1024 ** 3,
      compactMaxSourceFragments: 512,
      targetFragmentBytes: 128 * 1024 ** 2,
      indexMaxRowsOutside: 100_000,
      indexMaxPercentOutside: 10,
      indexTailIntervalMs: 3_600_000,
      versionRetentionMs: 7 * 86_400_000,
      pruneKeepVersions: 3,
      pruneMinVersions: 100,
      pruneMinBytes: 256 * 1024 ** 2,
      pruneIntervalMs: 86_400_000,
      compactionIntervalMs: 600_000,
      mergeWalIntervalMs: 600_000,
      mergeWalTailIntervalMs: 3_600_000,
      taskCooldownAfterFailures: 3,
      taskHistoryMs: 7 * 86_400_000,
    });
  });

  it('are few enough to read', () => {
    expect(settingDefinitions.length).toBeLessThan(40);
  });

  it('read seconds, days, bytes, words and lists', () => {
    const settings = loadSettings({
      GENERATION_RETENTION: '0',
      TASK_HISTORY_DAYS: '2',
      MERGE_MAX_BYTES: '1000',
      INDEX_AFTER_COMPACTION: 'false',
      UPKEEP_ROOTS: '/data/a, s3://bucket/b ,',
    });
    expect(settings).toMatchObject({
      generationRetentionMs: 0,
      taskHistoryMs: 172_800_000,
      mergeMaxBytes: 1000,
      indexAfterCompaction: false,
      roots: ['/data/a', 's3://bucket/b'],
    });
    expect(Object.isFrozen(settings)).toBe(true);
  });

  it.each([
    ['MIN_FRAGMENTS', '0', 'at least 1'],
    ['MIN_FRAGMENTS', '', 'whole number'],
    ['MIN_FRAGMENTS', '1.5', 'whole number'],
    ['MIN_FRAGMENTS', '-1', 'whole number'],
    ['GENERATION_RETENTION', '1h', 'whole number of seconds'],
    ['MERGE_MAX_BYTES', '256MiB', 'whole number of bytes'],
    ['MERGE_MAX_BYTES', '99999999999999999999', 'too large'],
    ['COMPACT_MAX_SOURCE_FRAGMENTS', '1', 'at least 2'],
    ['INDEX_BEFORE_MERGE', 'yes', 'true or false'],
    ['INDEX_BEFORE_MERGE', 'True', 'true or false'],
  ])('refuse %s=%j with its name, its value and what it must be', (name, value, why) => {
    const load = () => loadSettings({ [name]: value });
    expect(load).toThrow(
      expect.objectContaining({
        code: 'SETTING_INVALID',
        disposition: 'permanent',
        message: expect.stringContaining(why),
      }),
    );
    expect(load).toThrow(`${name}=${JSON.stringify(value)}`);
  });

  it.each([
    ['MIN_FRAGMENT', 'MIN_FRAGMENTS'],
    ['MIN_FRAMGENTS', 'MIN_FRAGMENTS'],
    ['min_fragments', 'MIN_FRAGMENTS'],
    ['GENREATION_RETENTOIN', 'GENERATION_RETENTION'],
    ['INDEX_AFTER_COMPACTIONS', 'INDEX_AFTER_COMPACTION'],
    ['INDEX_BEFORE_MERGING', 'INDEX_BEFORE_MERGE'],
    ['MERGE_WAL_MINIMUM_GENERATIONS', 'MERGE_WAL_MIN_GENERATIONS'],
    ['MERGE_WAL_PARALLEL', 'MERGE_WAL_INTERVAL'],
    ['COMPACT_MAX_MIB', 'COMPACT_MAX_BYTES'],
    ['UPKEEP_ROOT', 'UPKEEP_ROOTS'],
    ['VERSION_RETENTION_SECONDS', 'VERSION_RETENTION'],
  ])('refuse the name %s and point to %s', (name, nearest) => {
    expect(() => loadSettings({ [name]: '1' })).toThrow(
      expect.objectContaining({
        code: 'SETTING_UNKNOWN',
        disposition: 'permanent',
        next: expect.stringContaining(nearest),
        details: { name, nearest },
      }),
    );
  });

  it('leave alone what others put into the environment, and what the caller says is its own', () => {
    const environment = { NODE_OPTIONS: '', INDEX: '1', MERGED: 'x', COMPACT: '1', UPKEEP_TABLE: 'ledger' };
    expect(loadSettings(environment, ['UPKEEP_TABLE']).minFragments).toBe(16);
  });
});

describe('docs/settings.md', () => {
  it('holds one row for each setting, in the order and the words of the code', () => {
    const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).toEqual(settingDefinitions.map(row));
  });
});

function row(setting: SettingDefinition): string {
  const value = setting.default === '' ? 'none' : `\`${setting.default}\``;
  const unit = setting.least === undefined ? setting.unit : `${setting.unit}, at least ${setting.least}`;
  return `| \`${setting.name}\` | ${value} | ${unit} | ${setting.meaning} |`;
}
