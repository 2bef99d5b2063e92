import { describe, expect, it } from 'vitest';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { readManifestFile } from '../../../src/lance/manifest-file.ts';
import { encodeWatermarkCommit } from '../../../src/lance/watermark.ts';
import { fieldsOf, type WireMessage } from '../../../src/lance/wire.ts';
import { fixedField, rawField, textField, varintField } from '../../../src/lance/wire-writer.ts';
import { manifestBytes, memWalIndex, SHARD_A, SHARD_B, v2Key } from './synthetic.ts';

const uuids = { transaction: '99999999-0000-4000-8000-000000000001', index: '99999999-0000-4000-8000-000000000002' };
const now = 1_800_000_000_456;
const unknown = [textField(77, 'unknown field'), fixedField(78, new Uint8Array(8)), varintField(79, 2n ** 64n - 1n)];
const before = decodeManifest(
  v2Key(7),
  manifestBytes({
    fragments: [{ id: 0, rows: 10, deleted: 1 }],
    indexes: [
      { name: 'id_idx', fieldIds: [0], covers: [0] },
      memWalIndex({ [SHARD_A]: 4, [SHARD_B]: 9 }, { id_idx: { [SHARD_A]: 4 } }),
      { name: 'v_idx', fieldIds: [1], typeUrl: '/lance.table.BitmapIndexDetails' },
    ],
    extra: unknown,
  }),
);

function commit(
  watermarks: Readonly<Record<string, number>>,
  catchUp?: Readonly<Record<string, Record<string, number>>>,
) {
  const progress = (record: Readonly<Record<string, number>>) => new Map(Object.entries(record));
  return encodeWatermarkCommit(before, {
    watermarks: progress(watermarks),
    ...(catchUp && { catchUp: new Map(Object.entries(catchUp).map(([name, record]) => [name, progress(record)])) }),
    now,
    uuids,
  });
}

function rawFields(message: WireMessage, skip: readonly number[]): Uint8Array[] {
  return message.fields.filter(({ number }) => !skip.includes(number)).map((field) => rawField(message, field));
}

describe('the watermark commit', () => {
  it('is the next version, with a transaction of its own', () => {
    const made = commit({ [SHARD_A]: 6 });
    expect(made.version).toBe(8);
    expect(made.manifestKey).toBe(v2Key(8));
    expect(made.transactionKey).toBe(`_transactions/7-${uuids.transaction}.txn`);
    expect(decodeManifest(made.manifestKey, made.manifestBytes)).toMatchObject({
      version: 8,
      timestamp: now,
      transaction: { operation: 'Update', readVersion: 7, uuid: uuids.transaction },
    });
    const { transaction } = readManifestFile('x', made.manifestBytes);
    expect(transaction && made.manifestBytes.subarray(transaction.start, transaction.end)).toEqual(
      made.transactionBytes,
    );
  });

  it('raises watermarks, of several shards at once and of new ones, and never lowers one', () => {
    const other = '22222222-2222-5333-8444-555555555555';
    const { manifestBytes: bytes } = commit({ [SHARD_A]: 6, [SHARD_B]: 3, [other]: 1 });
    expect(decodeManifest(v2Key(8), bytes).memWal?.compacted).toEqual(
      new Map([
        [SHARD_A, 6],
        [SHARD_B, 9],
        [other, 1],
      ]),
    );
  });

  it('raises the catch-up of an index that has some and of one that has none, and never lowers it', () => {
    const { manifestBytes: bytes } = commit({}, { id_idx: { [SHARD_A]: 2, [SHARD_B]: 9 }, v_idx: { [SHARD_A]: 4 } });
    expect(decodeManifest(v2Key(8), bytes).memWal?.catchUp).toEqual(
      new Map([
        [
          'id_idx',
          new Map([
            [SHARD_A, 4],
            [SHARD_B, 9],
          ]),
        ],
        ['v_idx', new Map([[SHARD_A, 4]])],
      ]),
    );
  });

  it('keeps every other field of the manifest byte for byte and in order, known or not, and drops the tag', () => {
    const file = readManifestFile(before.key, before.bytes);
    const after = readManifestFile(v2Key(8), commit({ [SHARD_A]: 6 }).manifestBytes);
    const changed = [3, 6, 7, 8, 12, 21];
    expect(rawFields(after.manifest, changed)).toEqual(rawFields(file.manifest, changed));
    expect(rawFields(after.manifest, []).slice(-unknown.length)).toEqual(unknown);
    expect(fieldsOf(file.manifest, 8)).toHaveLength(1);
    expect(fieldsOf(after.manifest, 8)).toHaveLength(0);
    expect(after.footer).toEqual(file.footer);
  });

  it('keeps the other index entries byte for byte, and gives its own a new id and dataset version', () => {
    const made = decodeManifest(v2Key(8), commit({ [SHARD_A]: 6 }).manifestBytes);
    expect(made.indexes[1]).toMatchObject({ name: '__lance_mem_wal', uuid: uuids.index, datasetVersion: 8 });
    const entries = (bytes: Uint8Array) => {
      const { indexSection } = readManifestFile('x', bytes);
      return indexSection ? rawFields(indexSection, []) : [];
    };
    const [first, , third] = entries(made.bytes);
    expect([first, third]).toEqual([entries(before.bytes)[0], entries(before.bytes)[2]]);
  });

  it('keeps unknown fields inside the details and inside the very entry that it raises', () => {
    const text = Buffer.from(
      commit({ [SHARD_A]: 6, [SHARD_B]: 10 }, { id_idx: { [SHARD_A]: 6 } }).manifestBytes,
    ).toString('latin1');
    expect(text.split('unknown detail')).toHaveLength(2);
    // Two watermarks and one catch-up entry, each with a field of its own that is not known.
    expect(text.split(Buffer.from(textField(9, 'unknown')).toString('latin1'))).toHaveLength(4);
  });

  it('is refused without an LSM write spec', () => {
    const plain = decodeManifest(v2Key(7), manifestBytes({ indexes: [{ name: 'id_idx', fieldIds: [0] }] }));
    expect(() => encodeWatermarkCommit(plain, { watermarks: new Map([[SHARD_A, 1]]), now, uuids })).toThrow(
      expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED' }),
    );
  });
});
