import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fieldsOf,
  messageAt,
  optionalUnsigned,
  signed,
  signedList,
  text,
  textMap,
  unsigned,
  unsignedBits,
  type WireSource,
} from '../../../src/lance/wire.ts';
import {
  bytesField,
  concatBytes,
  fixedField,
  textField,
  varintField,
  withFields,
} from '../../../src/lance/wire-writer.ts';

function message(bytes: Uint8Array) {
  const source: WireSource = { file: 'a/file', bytes, code: 'MANIFEST_UNREADABLE' };
  return messageAt(source, 0, bytes.length, 'Test');
}

const field = fc.oneof(
  fc
    .record({ number: fc.integer({ min: 1, max: 0x1fffffff }), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) })
    .map(({ number, value }) => varintField(number, value)),
  fc
    .record({ number: fc.integer({ min: 1, max: 40 }), value: fc.uint8Array({ maxLength: 300 }) })
    .map(({ number, value }) => bytesField(number, value)),
  fc
    .record({ number: fc.integer({ min: 1, max: 40 }), value: fc.constantFrom(4, 8) })
    .map(({ number, value }) => fixedField(number, new Uint8Array(value))),
);

describe('wire', () => {
  it('keeps the bytes and the order of every field when nothing is changed', () => {
    fc.assert(
      fc.property(fc.array(field), (fields) => {
        const bytes = concatBytes(fields);
        expect(withFields(message(bytes), new Map())).toEqual(bytes);
      }),
    );
  });

  it('reads back any 64-bit number, exactly above 2^53 too', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        expect(unsignedBits(message(varintField(3, value)), 3)).toBe(value);
      }),
    );
  });

  it('refuses a number above 2^53 - 1 where a plain number is wanted', () => {
    expect(unsigned(message(varintField(3, 2n ** 53n - 1n)), 3)).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => unsigned(message(varintField(3, 2n ** 53n)), 3)).toThrow(
      expect.objectContaining({
        code: 'MANIFEST_UNSUPPORTED',
        details: expect.objectContaining({ file: 'a/file', offset: 0 }),
      }),
    );
  });

  it('tells a 0 that was written from one that was not', () => {
    expect(optionalUnsigned(message(varintField(6, 0)), 6)).toBe(0);
    expect(optionalUnsigned(message(new Uint8Array()), 6)).toBeUndefined();
  });

  it('takes the last of repeated singular fields', () => {
    expect(unsigned(message(concatBytes([varintField(1, 4), varintField(1, 5)])), 1)).toBe(5);
  });

  it('reads negative int32 values, packed and not', () => {
    const minusTwo = 2n ** 64n - 2n;
    expect(signed(message(varintField(4, 2n ** 64n - 1n)), 4)).toBe(-1);
    const packed = bytesField(
      2,
      concatBytes([Uint8Array.of(7), varintField(1, minusTwo).subarray(1), Uint8Array.of(0x80, 0x01)]),
    );
    expect(signedList(message(packed), 2)).toEqual([7, -2, 128]);
    expect(signedList(message(concatBytes([varintField(2, 7), varintField(2, minusTwo)])), 2)).toEqual([7, -2]);
  });

  it('reads maps with absent keys and values as empty text', () => {
    const map = concatBytes([
      bytesField(5, concatBytes([textField(1, 'a'), textField(2, 'b')])),
      bytesField(5, new Uint8Array()),
    ]);
    expect(textMap(message(map), 5, 'Map')).toEqual({ a: 'b', '': '' });
  });

  it('puts a replacement where the old field stood, a new one before the next greater number, and drops with null', () => {
    const original = message(
      concatBytes([varintField(2, 1), textField(8, 'tag'), varintField(2, 9), varintField(12, 3)]),
    );
    const changed = withFields(
      original,
      new Map<number, Uint8Array | null>([
        [2, varintField(2, 5)],
        [8, null],
        [10, varintField(10, 6)],
        [21, varintField(21, 7)],
      ]),
    );
    expect(changed).toEqual(
      concatBytes([varintField(2, 5), varintField(10, 6), varintField(12, 3), varintField(21, 7)]),
    );
  });

  it('leaves a field where it is although its number is out of order', () => {
    const original = message(concatBytes([varintField(12, 3), varintField(2, 1)]));
    const changed = withFields(original, new Map([[2, varintField(2, 5)]]));
    expect(changed).toEqual(concatBytes([varintField(12, 3), varintField(2, 5)]));
  });

  it.each([
    ['a tag that never ends', [0xff]],
    ['a varint of eleven bytes', [0x08, ...Array(10).fill(0xff), 1]],
    ['a varint of more than 64 bits', [0x08, ...Array(9).fill(0xff), 2]],
    ['a length beyond the end', [0x12, 5, 1, 2]],
    ['a 64-bit value that is cut', [0x09, 1, 2, 3]],
    ['a group', [0x0b]],
    ['field number 0', [0x00, 1]],
  ])('names file, offset and what was expected on %s', (_, bytes) => {
    expect(() => message(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({
        code: 'MANIFEST_UNREADABLE',
        disposition: 'permanent',
        details: { file: 'a/file', offset: expect.any(Number), expected: expect.stringContaining('Test') },
      }),
    );
  });

  it('refuses a field of another wire type than it should have, and text that is not UTF-8', () => {
    const code = expect.objectContaining({ code: 'MANIFEST_UNREADABLE' });
    expect(() => unsigned(message(textField(3, 'x')), 3)).toThrow(code);
    expect(() => text(message(varintField(3, 1)), 3)).toThrow(code);
    expect(() => text(message(bytesField(3, Uint8Array.of(0xff))), 3)).toThrow(code);
    expect(fieldsOf(message(varintField(3, 1)), 4)).toEqual([]);
  });
});
