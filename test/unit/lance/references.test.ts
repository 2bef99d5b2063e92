import { describe, expect, it } from 'vitest';
import { cleanupConfigOf } from '../../../src/lance/cleanup-config.ts';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { ownerOf } from '../../../src/lance/prunable-files.ts';
import { referencesOf } from '../../../src/lance/references.ts';
import { bytesField, concatBytes, textField, varintField } from '../../../src/lance/wire-writer.ts';
import { type ManifestFields, manifestBytes, v2Key } from './synthetic.ts';

const unsupported = expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED', disposition: 'permanent' });
const unreadable = expect.objectContaining({ code: 'MANIFEST_UNREADABLE', disposition: 'permanent' });

function references(parts: ManifestFields) {
  return referencesOf(v2Key(7), manifestBytes(parts));
}

describe('what a manifest names', () => {
  it('is its data files, deletion files, index folders and transaction file', () => {
    const found = references({
      fragments: [
        { id: 0, rows: 10, bytes: 500 },
        { id: 4, rows: 10, deleted: 2, bytes: 0 },
      ],
      indexes: [{ name: 'id_idx', fieldIds: [0] }],
    });
    expect(found).toEqual([
      { name: 'data/0.lance', bytes: 500 },
      { name: 'data/4.lance' },
      { name: '_deletions/4-3-9223372036854775813.arrow' },
      { name: '_indices/00000000-0000-4000-8000-000000000000/', bytes: 77 },
      { name: '_transactions/6-txn.txn' },
    ]);
  });

  it('is the same for the deletion files that a decoded manifest speaks of', () => {
    const bytes = manifestBytes({ fragments: [{ id: 4, rows: 10, deleted: 2 }] });
    const names = referencesOf(v2Key(7), bytes).map(({ name }) => name);
    expect(names).toContain(decodeManifest(v2Key(7), bytes).fragments[0]?.deletionFile);
  });

  it('is read of a detached manifest, whose version is above 2^53', () => {
    const detached = manifestBytes({ fragments: [{ id: 1, rows: 1 }], extra: [varintField(3, 2n ** 63n + 9n)] });
    const names = referencesOf('_versions/d9223372036854775817.manifest', detached).map(({ name }) => name);
    expect(names).toContain('data/1.lance');
  });

  it.each<[string, ManifestFields]>([
    ['another base path', { extra: [bytesField(18, varintField(1, 1))] }],
    ['an unknown flag', { readerFlags: 64 }],
    ['stable row ids', { writerFlags: 2 }],
    ['a branch', { extra: [textField(20, 'side')] }],
    ['an unknown field of the manifest', { extra: [textField(22, 'files')] }],
    [
      'an unknown field of a fragment',
      { extra: [bytesField(2, concatBytes([varintField(1, 3), textField(11, 'x')]))] },
    ],
    ['a data file elsewhere', { extra: [bytesField(2, bytesField(2, varintField(7, 1)))] }],
    ['a deletion file elsewhere', { extra: [bytesField(2, bytesField(3, varintField(7, 1)))] }],
    ['the legacy data format', { dataFormat: '0.1' }],
  ])('is not answered with %s', (_, parts) => {
    expect(() => references(parts)).toThrow(unsupported);
  });

  it('is not answered for a damaged manifest, or one of another version than its name', () => {
    const bytes = manifestBytes();
    expect(() => referencesOf(v2Key(7), bytes.subarray(0, bytes.length - 1))).toThrow(unreadable);
    expect(() => referencesOf(v2Key(8), bytes)).toThrow(unreadable);
  });
});

describe('a file below a table', () => {
  const index = '_indices/6c9ab29c-d750-40ce-bc27-2e008c91fc9e/';
  it.each([
    ['data/00101100110000100001010041a643402ca6061152bcb2e478.lance', undefined],
    ['_deletions/0-3-16106373115697259082.arrow', undefined],
    ['_deletions/0-3-16106373115697259082.bin', undefined],
    ['_transactions/0-1e1efbdc-8a0b-4d42-917c-2c33eae2b7ed.txn', undefined],
    [`${index}page_data.lance`, index],
    [`${index}auxiliary.idx`, index],
  ])('%s is known by the name that manifests use', (key, owner) => {
    expect(ownerOf(key)?.owner).toBe(owner ?? key);
  });

  it.each([
    '_versions/18446744073709551610.manifest',
    '_refs/tags/one.json',
    '_mem_wal/aa48498d-ac91-59e2-8452-69f46010ace2/manifest/version_hint.json',
    '_mem_wal/aa48498d-ac91-59e2-8452-69f46010ace2/1a2b3c4d_gen_1/data/x.lance',
    'data/notes.txt',
    'data/deep/x.lance',
    'data/x.lance.bak',
    'data/stem/00000000000000000000000000000001.blob',
    '_deletions/readme.md',
    '_indices/readme.md',
    `${index}deep/page_data.lance`,
    '_indices/not-a-uuid/page_data.lance',
    '_transactions/notes.txn',
    'stray.lance',
  ])('%s is nobody that pruning knows', (key) => {
    expect(ownerOf(key)).toBeUndefined();
  });
});

describe("the owner's word about old versions", () => {
  const entry = (key: string, value: string) => bytesField(16, concatBytes([textField(1, key), textField(2, value)]));
  const config = (...extra: Uint8Array[]) => cleanupConfigOf(decodeManifest(v2Key(7), manifestBytes({ extra })));

  it('is read from the config of the newest version', () => {
    expect(config()).toEqual({});
    expect(
      config(entry('lance.auto_cleanup.older_than', '30d'), entry('lance.auto_cleanup.retain_versions', '40')),
    ).toEqual({ olderThanMs: 30 * 86_400_000, retainVersions: 40 });
  });

  it.each([
    ['lance.auto_cleanup.older_than', 'a while'],
    ['lance.auto_cleanup.retain_versions', '-1'],
  ])('is refused when %s is %s', (key, value) => {
    expect(() => config(entry(key, value))).toThrow(unsupported);
  });
});
