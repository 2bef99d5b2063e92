import { describe, expect, it } from 'vitest';
import { listVersions } from '../../../src/lance/list-versions.ts';
import { decideRetention, type RetentionSettings, retentionRule } from '../../../src/lance/retained-versions.ts';
import { memoryStore, v2Key } from './synthetic.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = 100 * day;
const settings: RetentionSettings = { versionRetentionMs: 7 * day, generationRetentionMs: hour, pruneKeepVersions: 1 };

/** One version per age in days, oldest first, numbered from 1. */
function versionsOfAges(...ages: number[]) {
  return ages
    .map((age, index) => ({
      version: index + 1,
      key: v2Key(index + 1),
      naming: 'V2' as const,
      modified: now - age * day,
      size: 100,
    }))
    .reverse();
}

function rechecked(ages: number[], options: { tagged?: number[]; keep?: number; config?: object } = {}) {
  const rule = retentionRule({ ...settings, pruneKeepVersions: options.keep ?? 1 }, options.config ?? {}, now);
  return decideRetention(versionsOfAges(...ages), new Set(options.tagged), rule);
}

describe('which versions stay', () => {
  it('are those of the retention, the one that readers held when it began, and the head', () => {
    const { retained, prunable } = rechecked([20, 12, 9, 5, 0]);
    expect(prunable.map(({ version }) => version)).toEqual([1, 2]);
    expect([...retained]).toEqual([
      [5, 'head'],
      [4, 'recent'],
      [3, 'newestAtCutoff'],
    ]);
  });

  it('is the head of a quiet table alone', () => {
    const { retained, prunable } = rechecked([20, 19, 18]);
    expect([...retained]).toEqual([[3, 'head']]);
    expect(prunable).toHaveLength(2);
  });

  it('are tagged ones of any age, and no others around them', () => {
    const { retained, prunable } = rechecked([30, 29, 28, 27, 26], { tagged: [2, 77] });
    expect(retained.get(2)).toBe('tagged');
    expect(prunable.map(({ version }) => version)).toEqual([1, 3, 4]);
  });

  it('are at least the newest N, and more where the table asks for more', () => {
    expect(rechecked([30, 29, 28, 27], { keep: 3 }).prunable.map(({ version }) => version)).toEqual([1]);
    expect(rechecked([30, 29, 28, 27], { keep: 1, config: { retainVersions: 3 } }).prunable).toHaveLength(1);
    expect(rechecked([30, 29, 28, 27], { keep: 3, config: { retainVersions: 1 } }).prunable).toHaveLength(1);
  });

  it("follow the age in the table's config, be it longer or shorter", () => {
    expect(rechecked([40, 20, 12, 0], { config: { olderThanMs: 30 * day } }).prunable).toEqual([]);
    expect(
      rechecked([6, 4, 2, 0], { config: { olderThanMs: 3 * day } }).prunable.map(({ version }) => version),
    ).toEqual([1]);
  });

  it('are never fewer than the retention of merged generations needs', () => {
    const rule = retentionRule({ ...settings, generationRetentionMs: 2 * day }, { olderThanMs: 0 }, now);
    expect(rule.cutoff).toBe(now - 2 * day);
  });

  it('change next when the successor of the oldest one held by age leaves the retention', () => {
    // Version 2 was the newest at the cutoff; version 3 leaves the retention in a day, and only then version 2 may go.
    expect(rechecked([12, 9, 6, 0]).nextPrunableAt).toBe(now + day);
    expect(rechecked([12]).nextPrunableAt).toBeNull();
    expect(rechecked([1, 0], { keep: 5 }).nextPrunableAt).toBeNull();
  });
});

describe('the listing of versions', () => {
  it('is newest first, with sizes, and tells detached versions apart from other files', async () => {
    const content = new Uint8Array(5);
    const store = memoryStore({
      [v2Key(1)]: content,
      [v2Key(12)]: content,
      [v2Key(2)]: content,
      '_versions/d9223372036854775817.manifest': content,
      '_versions/latest_version_hint.json': content,
      '_versions/notes.manifest': content,
    });
    const { versions, detached } = await listVersions(store);
    expect(versions.map(({ version, size }) => [version, size])).toEqual([
      [12, 5],
      [2, 5],
      [1, 5],
    ]);
    expect(detached.map(({ key }) => key)).toEqual(['_versions/d9223372036854775817.manifest']);
  });
});
