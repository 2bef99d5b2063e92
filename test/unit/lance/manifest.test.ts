import { describe, expect, it } from 'vitest';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { readManifestFile, writeManifestFile } from '../../../src/lance/manifest-file.ts';
import { bytesField, concatBytes, textField, varintField } from '../../../src/lance/wire-writer.ts';
import { manifestBytes, memWalIndex, SHARD_A, SHARD_B, v2Key } from './synthetic.ts';

describe('decodeManifest', () => {
  const whole = manifestBytes({
    version: 7,
    fragments: [
      { id: 0, rows: 100, bytes: 1000 },
      { id: 3, rows: 50, deleted: 20, bytes: 500 },
    ],
    indexes: [
      { name: 'id_idx', fieldIds: [0], covers: [0, 9] },
      { name: 'v_idx', fieldIds: [1], typeUrl: '/lance.index.pb.VectorIndexDetails' },
      memWalIndex({ [SHARD_A]: 4, [SHARD_B]: 2 }, { id_idx: { [SHARD_A]: 3 } }),
    ],
  });

  it('tells version, time, naming and the transaction that made it', () => {
    expect(decodeManifest(v2Key(7), whole)).toMatchObject({
      key: v2Key(7),
      version: 7,
      timestamp: 1_700_000_000_123,
      naming: 'V2',
      dataFormatVersion: '2.2',
      transaction: { operation: 'Append', readVersion: 6, uuid: 'txn' },
      basePaths: 0,
      stableRowIds: false,
    });
  });

  it('counts rows, deletions and bytes, per fragment and in all', () => {
    const manifest = decodeManifest(v2Key(7), whole);
    expect(manifest).toMatchObject({ physicalRows: 150, deletedRows: 20, liveRows: 130, dataBytes: 1500 });
    expect(manifest.fragments[0]).toEqual({
      id: 0,
      physicalRows: 100,
      deletedRows: 0,
      liveRows: 100,
      bytes: 1000,
      files: [{ path: '0.lance', bytes: 1000, fieldIds: [0, 1] }],
    });
    expect(manifest.fragments[1]).toMatchObject({
      id: 3,
      liveRows: 30,
      deletionFile: '_deletions/3-3-9223372036854775813.arrow',
    });
  });

  it('leaves the size of a fragment open when one of its files has none', () => {
    const manifest = decodeManifest(v2Key(7), manifestBytes({ fragments: [{ id: 1, rows: 5, bytes: 0 }] }));
    expect(manifest.fragments[0]?.bytes).toBeUndefined();
    expect(manifest.fragments[0]?.files[0]).not.toHaveProperty('bytes');
    expect(manifest.dataBytes).toBe(0);
  });

  it('names columns and the declared key', () => {
    expect(decodeManifest(v2Key(7), whole).fields).toMatchObject([
      { id: 0, parentId: -1, name: 'id', logicalType: 'string', nullable: false, primaryKeyPosition: 1 },
      { id: 1, parentId: -1, name: 'v', nullable: true, primaryKeyPosition: undefined },
    ]);
  });

  it('takes kinds from the details and coverage from the bitmaps; no bitmap is not an empty one', () => {
    const [key, vector, memWal] = decodeManifest(v2Key(7), whole).indexes;
    expect(key).toMatchObject({ name: 'id_idx', kind: 'BTree', fieldIds: [0], fragments: new Set([0, 9]) });
    expect(key?.files).toEqual([{ path: 'page_data.lance', bytes: 77 }]);
    expect(vector).toMatchObject({ kind: 'Vector', fragments: undefined });
    expect(memWal).toMatchObject({ kind: 'MemWal', fieldIds: [] });
    const blank = manifestBytes({
      indexes: [
        { name: 'id_idx', fieldIds: [0], covers: 'empty' },
        { name: 'v_idx', fieldIds: [1], covers: [] },
      ],
    });
    expect(decodeManifest(v2Key(7), blank).indexes.map(({ fragments }) => fragments)).toEqual([undefined, new Set()]);
  });

  it.each([
    ['/LANCE.TABLE.BTREEINDEXDETAILS', 'BTree'],
    ['/lance.table.ZoneMapIndexDetails', 'ZoneMap'],
    ['type.googleapis.com/lance.table.FragmentReuseIndexDetails', 'FragmentReuse'],
    ['/lance.table.NewThingIndexDetails', 'NewThing'],
    ['', 'Unknown'],
  ])('reads the index type %s as %s', (typeUrl, kind) => {
    const bytes = manifestBytes({ indexes: [{ name: 'x', fieldIds: [0], typeUrl }] });
    expect(decodeManifest(v2Key(7), bytes).indexes[0]?.kind).toBe(kind);
  });

  it('reads the watermark of each shard and the catch-up of each index', () => {
    const { memWal } = decodeManifest(v2Key(7), whole);
    expect(memWal?.compacted).toEqual(
      new Map([
        [SHARD_A, 4],
        [SHARD_B, 2],
      ]),
    );
    expect(memWal?.catchUp).toEqual(new Map([['id_idx', new Map([[SHARD_A, 3]])]]));
    expect(memWal?.maintainedIndexes).toEqual(['id_idx']);
  });

  it('knows no MemWAL and no index when the manifest has no index section', () => {
    const manifest = decodeManifest(v2Key(7), manifestBytes());
    expect(manifest.indexes).toEqual([]);
    expect(manifest.memWal).toBeUndefined();
  });

  it('reads V1 names, branches, base paths, flags above 32 bits', () => {
    const extra = [bytesField(18, varintField(1, 1)), textField(20, 'side')];
    const bytes = manifestBytes({ readerFlags: 2 ** 40 + 3, extra });
    expect(decodeManifest('_versions/7.manifest', bytes)).toMatchObject({
      naming: 'V1',
      branch: 'side',
      basePaths: 1,
      readerFlags: 2 ** 40 + 3,
      stableRowIds: true,
    });
  });

  it('writes back what it split, byte for byte', () => {
    const file = readManifestFile('a/file', whole);
    const raw = (message: { start: number; end: number } | undefined) =>
      message && whole.subarray(message.start, message.end);
    const again = writeManifestFile({
      indexSection: raw(file.indexSection),
      transaction: raw(file.transaction),
      manifest: concatBytes([whole.subarray(file.manifest.start, file.manifest.end)]),
      footer: file.footer,
    });
    expect(again).toEqual(whole);
  });
});
