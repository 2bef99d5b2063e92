import { describe, expect, it } from 'vitest';
import { UpkeepError } from '../../../src/errors.ts';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { bytesField, varintField } from '../../../src/lance/wire-writer.ts';
import { manifestBytes, memWalIndex, SHARD_A, v2Key } from './synthetic.ts';

const key = v2Key(7);
const whole = manifestBytes({
  fragments: [
    { id: 0, rows: 100 },
    { id: 3, rows: 50, deleted: 20 },
  ],
  indexes: [
    { name: 'id_idx', fieldIds: [0], covers: [0, 3] },
    memWalIndex({ [SHARD_A]: 4 }, { id_idx: { [SHARD_A]: 3 } }),
  ],
});

function damage(code: string) {
  return expect.objectContaining({
    code,
    disposition: 'permanent',
    message: expect.stringContaining(key),
    details: { file: key, offset: expect.any(Number), expected: expect.any(String) },
  });
}

/** What decoding does with these bytes: undefined when they decode. */
function outcome(bytes: Uint8Array): unknown {
  try {
    decodeManifest(key, bytes);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('a damaged manifest', () => {
  it('is refused with file, offset and expectation when cut at any byte', () => {
    for (let length = 0; length < whole.length; length++) {
      expect(outcome(whole.subarray(0, length)), `cut to ${length} bytes`).toEqual(damage('MANIFEST_UNREADABLE'));
    }
  });

  it('is refused when bytes are missing in front', () => {
    for (const length of [1, 4, 40]) expect(outcome(whole.subarray(length))).toEqual(damage('MANIFEST_UNREADABLE'));
  });

  it('never gives another error than a coded one, whichever byte is changed to whichever value', () => {
    let refused = 0;
    for (let at = 0; at < whole.length; at++) {
      for (const flip of [0x01, 0x80, 0xff, 0x55]) {
        const bytes = Uint8Array.from(whole);
        bytes[at] = (bytes[at] as number) ^ flip;
        const error = outcome(bytes);
        if (error === undefined) continue;
        refused++;
        expect(error).toBeInstanceOf(UpkeepError);
        expect((error as UpkeepError).code).toMatch(/^MANIFEST_UN(READABLE|SUPPORTED)$/);
        expect((error as UpkeepError).details).toMatchObject({ file: key, expected: expect.any(String) });
      }
    }
    expect(refused).toBeGreaterThan(whole.length);
  });

  it('is refused when a length prefix says more or less than there is', () => {
    const position = Number(new DataView(whole.buffer).getBigUint64(whole.length - 16, true));
    const transactionAt = 4 + new DataView(whole.buffer).getUint32(0, true);
    for (const at of [0, transactionAt, position]) {
      for (const change of [1, -1, 1000, 0x7000_0000]) {
        const bytes = Uint8Array.from(whole);
        const view = new DataView(bytes.buffer);
        view.setUint32(at, view.getUint32(at, true) + change, true);
        expect(outcome(bytes), `length at ${at} changed by ${change}`).toEqual(damage('MANIFEST_UNREADABLE'));
      }
    }
  });

  it('is refused when the magic, the position or a section offset points nowhere', () => {
    const magic = Uint8Array.from(whole);
    magic[whole.length - 1] = 0x58;
    expect(outcome(magic)).toEqual(damage('MANIFEST_UNREADABLE'));
    const position = Uint8Array.from(whole);
    new DataView(position.buffer).setBigUint64(whole.length - 16, 2n ** 63n, true);
    expect(outcome(position)).toEqual(damage('MANIFEST_UNREADABLE'));
    const offset = manifestBytes({ extra: [varintField(21, 1_000_000)] });
    expect(outcome(offset)).toEqual(damage('MANIFEST_UNREADABLE'));
  });

  it('is refused when it speaks of another version than its name', () => {
    expect(() => decodeManifest(v2Key(8), whole)).toThrow(/version 8 as in the name, found 7/);
    expect(() => decodeManifest('_versions/d7.manifest', whole)).toThrow(
      expect.objectContaining({ code: 'MANIFEST_UNREADABLE' }),
    );
  });

  it('is refused when a fragment has more deleted rows than rows', () => {
    expect(outcome(manifestBytes({ fragments: [{ id: 1, rows: 2, deleted: 3 }] }))).toEqual(
      damage('MANIFEST_UNREADABLE'),
    );
  });

  it('is unsupported, not wrong, with numbers above 2^53 - 1 or two MemWAL entries', () => {
    expect(outcome(manifestBytes({ extra: [bytesField(2, varintField(4, 2n ** 60n))] }))).toMatchObject({
      code: 'MANIFEST_UNSUPPORTED',
    });
    expect(outcome(manifestBytes({ readerFlags: 2n ** 63n }))).toMatchObject({ code: 'MANIFEST_UNSUPPORTED' });
    const twice = manifestBytes({ indexes: [memWalIndex({}), memWalIndex({})] });
    expect(outcome(twice)).toMatchObject({ code: 'MANIFEST_UNSUPPORTED' });
  });
});
