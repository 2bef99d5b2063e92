import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRoaring } from '../../../src/lance/roaring.ts';
import { encodeRoaring } from '../../../src/lance/roaring-encoder.ts';
import type { WireSource } from '../../../src/lance/wire.ts';

type Kind = 'plain' | 'run';

function runsOf(lows: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const low of lows) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] + 1 === low) last[1]++;
    else runs.push([low, 0]);
  }
  return runs;
}

function containerBytes(lows: readonly number[], kind: Kind): Buffer {
  if (kind === 'run') {
    const words = runsOf(lows);
    return words16([words.length, ...words.flat()]);
  }
  if (lows.length <= 4096) return words16(lows);
  const bits = Buffer.alloc(8192);
  for (const low of lows) bits[low >> 3] = (bits[low >> 3] as number) | (1 << (low & 7));
  return bits;
}

function words16(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16LE(value, index * 2);
  return bytes;
}

function words32(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, index * 4);
  return bytes;
}

/** Portable Roaring as the format specification has it. `kindOf` chooses the container kind by its high half. */
function encode(ids: readonly number[], kindOf: (key: number) => Kind): Buffer {
  const byKey = Map.groupBy(
    [...ids].sort((a, b) => a - b),
    (id) => Math.floor(id / 65536),
  );
  const containers = [...byKey].map(([key, all]) => {
    const lows = all.map((id) => id % 65536);
    return { key, lows, kind: kindOf(key), bytes: containerBytes(lows, kindOf(key)) };
  });
  const withRuns = containers.some(({ kind }) => kind === 'run');
  const flags = Buffer.alloc(Math.ceil(containers.length / 8));
  containers.forEach(({ kind }, index) => {
    if (kind === 'run') flags[index >> 3] = (flags[index >> 3] as number) | (1 << (index & 7));
  });
  const head = withRuns
    ? Buffer.concat([words16([12347, containers.length - 1]), flags])
    : words32([12346, containers.length]);
  const headers = words16(containers.flatMap(({ key, lows }) => [key, lows.length - 1]));
  const hasOffsets = !withRuns || containers.length >= 4;
  let offset = head.length + headers.length + (hasOffsets ? containers.length * 4 : 0);
  const offsets: number[] = [];
  for (const { bytes } of containers) {
    offsets.push(offset);
    offset += bytes.length;
  }
  return Buffer.concat([
    head,
    headers,
    hasOffsets ? words32(offsets) : Buffer.alloc(0),
    ...containers.map(({ bytes }) => bytes),
  ]);
}

function decode(bytes: Uint8Array): number[] {
  const source: WireSource = { file: 'a/file', bytes, code: 'MANIFEST_UNREADABLE' };
  return [...decodeRoaring(source, 0, bytes.length)];
}

const ids = fc.uniqueArray(
  fc.oneof(
    fc.integer({ min: 0, max: 200 }),
    fc.integer({ min: 0, max: 6 * 65536 }),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  ),
  { maxLength: 60 },
);

describe('roaring', () => {
  it('decodes the bitmap {0} as LanceDB writes it', () => {
    expect(decode(Buffer.from('3a3000000100000000000000100000000000', 'hex'))).toEqual([0]);
  });

  it('gives back any set, whichever containers hold runs', () => {
    fc.assert(
      fc.property(ids, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), (set, runs) => {
        const bytes = encode(set, (key) => (runs[key % 8] ? 'run' : 'plain'));
        expect(decode(bytes)).toEqual([...set].sort((a, b) => a - b));
      }),
    );
  });

  it('decodes bitmap containers beside arrays and runs, with and without offsets', () => {
    const dense = Array.from({ length: 5000 }, (_, index) => index * 13);
    const run = Array.from({ length: 65536 }, (_, index) => 65536 * 2 + index);
    const few = [65536 * 7 + 1, 65536 * 8 + 65535, 65536 * 9];
    for (const set of [dense, [...dense, ...few], [...dense, ...run], [...dense, ...run, ...few]]) {
      expect(decode(encode(set, (key) => (key === 2 ? 'run' : 'plain')))).toEqual(set);
    }
  });

  it('decodes a bitmap container in the form with runs', () => {
    const dense = Array.from({ length: 4097 }, (_, index) => index * 2);
    expect(decode(encode([...dense, 65536], (key) => (key === 1 ? 'run' : 'plain')))).toEqual([...dense, 65536]);
  });

  it('refuses every cut of a bitmap, and bytes that follow it', () => {
    const whole = encode([1, 2, 3, 70000, 70001], (key) => (key === 1 ? 'run' : 'plain'));
    const code = expect.objectContaining({
      code: 'MANIFEST_UNREADABLE',
      details: expect.objectContaining({ file: 'a/file' }),
    });
    for (let length = 0; length < whole.length; length++) expect(() => decode(whole.subarray(0, length))).toThrow(code);
    expect(() => decode(Buffer.concat([whole, Buffer.of(0)]))).toThrow(code);
  });

  it('refuses a wrong cookie, a wrong cardinality and a run that leaves its container', () => {
    const code = expect.objectContaining({ code: 'MANIFEST_UNREADABLE' });
    expect(() => decode(words32([12348, 0]))).toThrow(code);
    expect(() => decode(words32([12346, 70000]))).toThrow(code);
    const doubled = encode([1, 2], () => 'plain');
    doubled.writeUInt16LE(1, doubled.length - 2);
    expect(() => decode(doubled)).toThrow(code);
    const leaving = encode([65535], () => 'run');
    leaving.writeUInt16LE(9, leaving.length - 2);
    expect(() => decode(leaving)).toThrow(code);
  });

  it('does not unfold billions of ids from a few damaged bytes', () => {
    const containers = 300;
    const headers = Array.from({ length: containers }, (_, key) => [key, 65535]).flat();
    const offsets = Buffer.alloc(containers * 4);
    const full = Buffer.concat(Array.from({ length: containers }, () => words16([1, 0, 65535])));
    const flags = Buffer.alloc(Math.ceil(containers / 8), 0xff);
    const bytes = Buffer.concat([words16([12347, containers - 1]), flags, words16(headers), offsets, full]);
    expect(() => decode(bytes)).toThrow(expect.objectContaining({ code: 'MANIFEST_UNSUPPORTED' }));
  });
});

describe('a Roaring bitmap that we write', () => {
  const source = (bytes: Uint8Array): WireSource => ({ file: 'x', bytes, code: 'MANIFEST_UNREADABLE' });

  it('is read back as the same ids, whatever they are', () => {
    const ids = fc.uniqueArray(fc.oneof(fc.nat(300), fc.nat(70_000), fc.nat({ max: 2 ** 32 - 1 })), { maxLength: 400 });
    fc.assert(
      fc.property(ids, (list) => {
        const bytes = encodeRoaring(list);
        expect(decodeRoaring(source(bytes), 0, bytes.length)).toEqual(new Set(list));
      }),
    );
  });

  it('is a bitmap container above 4,096 ids and an array at that number, as the format says', () => {
    const bytesOf = (count: number) => encodeRoaring(Array.from({ length: count }, (_, id) => id)).length;
    expect([bytesOf(4096), bytesOf(4097), bytesOf(65_536)]).toEqual([16 + 8192, 16 + 8192, 16 + 8192]);
    const many = Array.from({ length: 70_000 }, (_, index) => index);
    const bytes = encodeRoaring(many);
    expect(decodeRoaring(source(bytes), 0, bytes.length)).toEqual(new Set(many));
  });
});
