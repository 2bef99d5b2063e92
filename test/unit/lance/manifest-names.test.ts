import { describe, expect, it } from 'vitest';
import {
  manifestKey,
  parseManifestKey,
  parseShardManifestKey,
  shardManifestKey,
} from '../../../src/lance/manifest-names.ts';
import { SHARD_A } from './synthetic.ts';

describe('manifest names', () => {
  it('counts V2 names down from 2^64 - 1, so that the newest sorts first', () => {
    expect(manifestKey(1, 'V2')).toBe('_versions/18446744073709551614.manifest');
    expect(manifestKey(2, 'V2') < manifestKey(1, 'V2')).toBe(true);
    expect(manifestKey(12, 'V1')).toBe('_versions/12.manifest');
  });

  it.each([1, 2, 255, 104, 73_000_000_000, 2 ** 53 - 1])('finds version %d again in both namings', (version) => {
    for (const naming of ['V1', 'V2'] as const) {
      expect(parseManifestKey(manifestKey(version, naming))).toEqual({ version, naming });
    }
  });

  it.each([
    '_versions/d12.manifest',
    '_versions/latest_version_hint.json',
    '_versions/',
    '_versions/12.manifest.tmp',
    '_versions/x/12.manifest',
    '_versions/99999999999999999999.manifest',
    '_versions/00000000000000000001.manifest',
  ])('does not take %s for a version', (key) => {
    expect(parseManifestKey(key)).toBeUndefined();
  });

  it('writes the version of a shard manifest with its lowest bit first', () => {
    expect(shardManifestKey(SHARD_A, 1)).toBe(`_mem_wal/${SHARD_A}/manifest/1${'0'.repeat(63)}.binpb`);
    expect(shardManifestKey(SHARD_A, 6)).toBe(`_mem_wal/${SHARD_A}/manifest/011${'0'.repeat(61)}.binpb`);
    for (const version of [1, 2, 3, 8, 1000, 2 ** 40 + 1, 2 ** 53 - 1]) {
      expect(parseShardManifestKey(shardManifestKey(SHARD_A, version))).toBe(version);
    }
    expect(parseShardManifestKey(`_mem_wal/${SHARD_A}/manifest/version_hint.json`)).toBeUndefined();
    expect(parseShardManifestKey(`_mem_wal/${SHARD_A}/manifest/${'1'.repeat(64)}.binpb`)).toBeUndefined();
  });
});
