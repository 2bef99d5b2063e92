import { describe, expect, it } from 'vitest';
import { keyColumnOf, keyIndexOf } from '../../../src/lance/key-index.ts';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { type IndexFields, type ManifestFields, manifestBytes, v2Key } from './synthetic.ts';

function manifest(parts: ManifestFields) {
  return decodeManifest(v2Key(7), manifestBytes(parts));
}

const fragments = [
  { id: 0, rows: 100 },
  { id: 1, rows: 50, deleted: 5 },
  { id: 2, rows: 10 },
];

function keyIndex(indexes: readonly IndexFields[]) {
  const decoded = manifest({ fragments, indexes });
  return keyIndexOf(decoded, keyColumnOf(decoded));
}

const bitmapOnKey: IndexFields = {
  name: 'id_idx',
  fieldIds: [0],
  typeUrl: '/lance.table.BitmapIndexDetails',
  covers: [0, 1, 2],
};

describe('the key column', () => {
  it('is the declared primary key, whatever its name', () => {
    expect(keyColumnOf(manifest({ columns: ['id', '*sku'] }))).toEqual({ name: 'sku', fieldId: 1, declared: true });
  });

  it('is the column id when nothing is declared', () => {
    expect(keyColumnOf(manifest({ columns: ['v', 'id'] }))).toEqual({ name: 'id', fieldId: 1, declared: false });
  });

  it('is missing when there is neither', () => {
    expect(() => keyColumnOf(manifest({ columns: ['v'] }))).toThrow(
      expect.objectContaining({ code: 'KEY_COLUMN_MISSING' }),
    );
  });

  it('must be one column', () => {
    expect(() => keyColumnOf(manifest({ columns: ['*a', '*b'] }))).toThrow(
      expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED', message: expect.stringContaining('a, b') }),
    );
  });
});

describe('the key index', () => {
  it('is null without any index on the key column', () => {
    expect(keyIndex([])).toBeNull();
    expect(keyIndex([{ name: 'v_idx', fieldIds: [1], covers: [0, 1, 2] }])).toBeNull();
    expect(keyIndex([{ name: 'both_idx', fieldIds: [0, 1], covers: [0, 1, 2] }])).toBeNull();
  });

  it('counts the live rows of fragments that no segment covers, and ignores covered fragments that are gone', () => {
    expect(keyIndex([{ name: 'id_idx', fieldIds: [0], covers: [0, 7, 8] }])).toEqual({
      name: 'id_idx',
      kind: 'BTree',
      exact: true,
      coveredFragments: 1,
      uncoveredFragments: 2,
      unindexedRows: 55,
      segments: 1,
    });
  });

  it('joins the coverage of its segments', () => {
    const segments = [0, 1, 2].map((id): IndexFields => ({ name: 'id_idx', fieldIds: [0], covers: [id] }));
    expect(keyIndex(segments)).toMatchObject({ coveredFragments: 3, unindexedRows: 0, segments: 3 });
  });

  it('covers nothing without a recorded bitmap', () => {
    expect(keyIndex([{ name: 'id_idx', fieldIds: [0] }])).toMatchObject({
      exact: true,
      coveredFragments: 0,
      unindexedRows: 155,
    });
  });

  it('is reported by its kind when it is no BTree', () => {
    expect(keyIndex([bitmapOnKey])).toMatchObject({ name: 'id_idx', kind: 'Bitmap', exact: false });
  });

  it('is the BTree of any name before another kind of the usual name', () => {
    const other: IndexFields = { name: 'my_index', fieldIds: [0], covers: [0] };
    expect(keyIndex([bitmapOnKey, other])).toMatchObject({ name: 'my_index', kind: 'BTree', exact: true });
  });

  it('is the best covering of several BTrees', () => {
    const half: IndexFields = { name: 'a_idx', fieldIds: [0], covers: [0] };
    const all: IndexFields = { name: 'b_idx', fieldIds: [0], covers: [0, 1, 2] };
    expect(keyIndex([half, all])).toMatchObject({ name: 'b_idx', unindexedRows: 0 });
  });

  it('reports an index of the usual name on another column, which a rebuild by name would destroy', () => {
    expect(keyIndex([{ name: 'id_idx', fieldIds: [1], covers: [0, 1, 2] }])).toEqual({
      name: 'id_idx',
      kind: 'OtherColumn',
      exact: false,
      coveredFragments: 0,
      uncoveredFragments: 3,
      unindexedRows: 155,
      segments: 1,
    });
  });

  it('is no BTree when only some of its segments are', () => {
    const segments: IndexFields[] = [{ name: 'id_idx', fieldIds: [0], covers: [0] }, { ...bitmapOnKey }];
    expect(keyIndex(segments)).toMatchObject({ kind: 'Mixed', exact: false });
  });
});
