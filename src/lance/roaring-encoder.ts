const COOKIE_WITHOUT_RUNS = 12346;
const BITMAP_BYTES = 8192;
/** Above this many ids a container is a bitmap, not an array. */
const ARRAY_MOST = 4096;

/**
 * The portable 32-bit Roaring bitmap of a set of fragment ids (whole numbers from 0 to 2^32 - 1), in array and bitmap
 * containers without runs. The inverse of `decodeRoaring`.
 */
export function encodeRoaring(ids: Iterable<number>): Uint8Array {
  const containers = new Map<number, number[]>();
  for (const id of [...new Set(ids)].sort((a, b) => a - b)) {
    const high = Math.floor(id / 65536);
    const lows = containers.get(high) ?? [];
    lows.push(id % 65536);
    containers.set(high, lows);
  }
  const bodies = [...containers].map(([high, lows]) => ({ high, count: lows.length, body: containerOf(lows) }));
  const headerBytes = 8 + bodies.length * 8;
  const bytes = new Uint8Array(bodies.reduce((sum, { body }) => sum + body.length, headerBytes));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, COOKIE_WITHOUT_RUNS, true);
  view.setUint32(4, bodies.length, true);
  let offset = headerBytes;
  for (const [index, { high, count, body }] of bodies.entries()) {
    view.setUint16(8 + index * 4, high, true);
    view.setUint16(8 + index * 4 + 2, count - 1, true);
    view.setUint32(8 + bodies.length * 4 + index * 4, offset, true);
    bytes.set(body, offset);
    offset += body.length;
  }
  return bytes;
}

function containerOf(lows: readonly number[]): Uint8Array {
  const isArray = lows.length <= ARRAY_MOST;
  const body = new Uint8Array(isArray ? lows.length * 2 : BITMAP_BYTES);
  const view = new DataView(body.buffer);
  for (const [index, low] of lows.entries()) {
    if (isArray) view.setUint16(index * 2, low, true);
    else view.setUint8(low >> 3, view.getUint8(low >> 3) | (1 << (low & 7)));
  }
  return body;
}
