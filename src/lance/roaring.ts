import { unreadable, unsupported } from './errors.ts';
import type { WireSource } from './wire.ts';

const COOKIE_WITHOUT_RUNS = 12346;
const COOKIE_WITH_RUNS = 12347;
const BITMAP_BYTES = 8192;
/** From this many containers on, the form with runs carries offsets too. */
const OFFSETS_FROM = 4;
/** A damaged run can claim billions of ids in a few bytes; a manifest of this many fragments would be 90 MB. */
const MAX_IDS = 1 << 20;

/**
 * Decodes a portable 32-bit Roaring bitmap at `[start, end)`: both cookies, array, bitmap and run containers.
 * Throws the source's unreadable code when the bytes are not exactly one bitmap.
 */
export function decodeRoaring(source: WireSource, start: number, end: number): Set<number> {
  const view = new DataView(source.bytes.buffer, source.bytes.byteOffset, source.bytes.byteLength);
  const ids = new Set<number>();
  let at = start;

  function take(length: number, what: string): number {
    if (at + length > end) {
      throw unreadable(
        source.code,
        source.file,
        at,
        `${length} bytes of a Roaring bitmap (${what}) before byte ${end}`,
      );
    }
    const from = at;
    at += length;
    return from;
  }

  const cookie = view.getUint32(take(4, 'cookie'), true);
  const withRuns = (cookie & 0xffff) === COOKIE_WITH_RUNS;
  if (!withRuns && cookie !== COOKIE_WITHOUT_RUNS) {
    throw unreadable(source.code, source.file, start, `a Roaring cookie (12346 or 12347), found ${cookie}`);
  }
  const countAt = at;
  const containers = withRuns ? (cookie >>> 16) + 1 : view.getUint32(take(4, 'container count'), true);
  if (containers > 65536) {
    throw unreadable(source.code, source.file, countAt, `at most 65536 Roaring containers, found ${containers}`);
  }
  const runFlags = withRuns ? take(Math.ceil(containers / 8), 'run flags') : 0;
  const headers = take(containers * 4, 'container headers');
  if (!withRuns || containers >= OFFSETS_FROM) take(containers * 4, 'container offsets');

  function add(id: number): void {
    ids.add(id);
    if (ids.size > MAX_IDS) {
      throw unsupported(source.file, `covers more than ${MAX_IDS} fragments in one index`, `at most ${MAX_IDS}`, {
        offset: start,
      });
    }
  }

  function readRuns(base: number): void {
    const runs = view.getUint16(take(2, 'run count'), true);
    const from = take(runs * 4, 'runs');
    for (let run = 0; run < runs; run++) {
      const first = view.getUint16(from + run * 4, true);
      const last = first + view.getUint16(from + run * 4 + 2, true);
      if (last > 0xffff) {
        throw unreadable(source.code, source.file, from + run * 4, 'a Roaring run that ends within its container');
      }
      for (let low = first; low <= last; low++) add(base + low);
    }
  }

  function readBitmap(base: number): void {
    const from = take(BITMAP_BYTES, 'bitmap container');
    for (let byte = 0; byte < BITMAP_BYTES; byte++) {
      const bits = view.getUint8(from + byte);
      for (let bit = 0; bits >>> bit; bit++) if ((bits >>> bit) & 1) add(base + byte * 8 + bit);
    }
  }

  for (let container = 0; container < containers; container++) {
    const base = view.getUint16(headers + container * 4, true) * 65536;
    const cardinality = view.getUint16(headers + container * 4 + 2, true) + 1;
    const before = ids.size;
    if (withRuns && (view.getUint8(runFlags + (container >> 3)) >> (container & 7)) & 1) {
      readRuns(base);
    } else if (cardinality > 4096) {
      readBitmap(base);
    } else {
      const from = take(cardinality * 2, 'array container');
      for (let index = 0; index < cardinality; index++) add(base + view.getUint16(from + index * 2, true));
    }
    if (ids.size - before !== cardinality) {
      throw unreadable(source.code, source.file, headers + container * 4, `a Roaring container of ${cardinality} ids`);
    }
  }
  if (at !== end) throw unreadable(source.code, source.file, at, `the Roaring bitmap to end, ${end - at} bytes follow`);
  return ids;
}
