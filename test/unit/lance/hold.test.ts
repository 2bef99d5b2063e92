import { describe, expect, it } from 'vitest';
import { encodeHoldCommit, HOLD_INDEX, holdIn } from '../../../src/lance/hold.ts';
import { indexCoverage } from '../../../src/lance/index-coverage.ts';
import { decodeManifest, type TableManifest } from '../../../src/lance/manifest.ts';
import { readManifestFile } from '../../../src/lance/manifest-file.ts';
import { fieldsOf, nested, type WireMessage } from '../../../src/lance/wire.ts';
import { rawField, textField } from '../../../src/lance/wire-writer.ts';
import { type IndexFields, manifestBytes, v2Key } from './synthetic.ts';

const uuids = { transaction: '99999999-0000-4000-8000-000000000001', index: '99999999-0000-4000-8000-000000000002' };
const now = 1_800_000_000_456;
const fragments = [0, 1, 2, 3].map((id) => ({ id, rows: 10 }));
const btree: IndexFields = { name: 'id_idx', fieldIds: [0], covers: [0, 1, 2, 3] };
const vector: IndexFields = {
  name: 'v_idx',
  fieldIds: [1],
  typeUrl: '/lance.index.pb.VectorIndexDetails',
  covers: [0],
};
const unknown = [textField(77, 'unknown field')];

function table(indexes: readonly IndexFields[]): TableManifest {
  return decodeManifest(v2Key(7), manifestBytes({ fragments, indexes, extra: unknown }));
}

function placed(before: TableManifest, held: readonly number[]): TableManifest {
  const commit = encodeHoldCommit(before, { held, now, uuids });
  return decodeManifest(commit.manifestKey, commit.manifestBytes);
}

function entriesOf(manifest: TableManifest): Uint8Array[] {
  const { indexSection } = readManifestFile(manifest.key, manifest.bytes);
  return indexSection ? fieldsOf(indexSection, 1).map((field) => rawField(indexSection, field)) : [];
}

/** The entries that the CreateIndex of a manifest names as new and as removed. */
function transactionOf(manifest: TableManifest): { readonly added: number; readonly removed: number } {
  const { transaction } = readManifestFile(manifest.key, manifest.bytes);
  const [operation] = fieldsOf(transaction as WireMessage, 103);
  const createIndex = nested(transaction as WireMessage, operation as never, 'CreateIndex');
  return { added: fieldsOf(createIndex, 1).length, removed: fieldsOf(createIndex, 2).length };
}

describe('a hold', () => {
  it('is the next version with one more index entry, over the fragments that it keeps', () => {
    const before = table([btree, vector]);
    const after = placed(before, [0, 3]);
    expect(holdIn(before)).toBeUndefined();
    expect(holdIn(after)).toEqual({ uuid: uuids.index, createdAt: now, fragments: new Set([0, 3]) });
    expect(after).toMatchObject({
      version: 8,
      timestamp: now,
      transaction: { operation: 'CreateIndex', readVersion: 7 },
    });
    expect(transactionOf(after)).toEqual({ added: 1, removed: 0 });
  });

  it('leaves every other entry and field as it is, to the byte', () => {
    const before = table([btree, vector]);
    const after = placed(before, [0]);
    expect(entriesOf(after).slice(0, 2)).toEqual(entriesOf(before));
    const fields = ({ key, bytes }: TableManifest) => {
      const { manifest } = readManifestFile(key, bytes);
      return manifest.fields
        .filter(({ number }) => ![3, 6, 7, 8, 12, 21].includes(number))
        .map((one) => rawField(manifest, one));
    };
    expect(fields(after)).toEqual(fields(before));
    expect(fields(after)).toContainEqual(unknown[0]);
  });

  it('is of a type that no Lance knows, has no column and counts as no index of the table', () => {
    const after = placed(table([btree]), [1]);
    const entry = after.indexes.find(({ name }) => name === HOLD_INDEX);
    expect(entry).toMatchObject({ kind: 'HoldDetails', fieldIds: [], files: [] });
    expect(indexCoverage(after).map(({ name }) => name)).toEqual(['id_idx']);
  });

  it('is replaced by another one in one commit', () => {
    const again = placed(placed(table([btree]), [0]), [1, 2]);
    expect(holdIn(again)?.fragments).toEqual(new Set([1, 2]));
    expect(entriesOf(again)).toHaveLength(2);
    expect(transactionOf(again)).toEqual({ added: 1, removed: 1 });
  });

  it('goes without a trace, also from a table that has no index at all', () => {
    for (const indexes of [[btree, vector], []]) {
      const before = table(indexes);
      const gone = placed(before, [0]);
      const commit = encodeHoldCommit(gone, { held: undefined, now, uuids });
      const after = decodeManifest(commit.manifestKey, commit.manifestBytes);
      expect(holdIn(after)).toBeUndefined();
      expect(entriesOf(after)).toEqual(entriesOf(before));
      expect(transactionOf(after)).toEqual({ added: 0, removed: 1 });
    }
  });
});
