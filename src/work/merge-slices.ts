import type { Data, RecordBatch } from './arrow.ts';
import type { WinnerSource } from './generations.ts';

/** Rows `from` up to `to` of one source. */
interface Part {
  readonly source: WinnerSource;
  readonly from: number;
  readonly to: number;
}

/** Rows that go into the base in one commit. */
export interface Slice {
  readonly parts: readonly Part[];
  /** Emptied by whoever has merged them, so that they are gone before the next slice is read. */
  readonly batches: RecordBatch[];
  readonly bytes: number;
}

/** A slice counts as full from this share of the budget on: a small rest is not worth a read of its own. */
const FULL = 7 / 8;

/** How many bytes a slice may have. It only ever shrinks: what did not fit once is not tried again as it was. */
export class SliceBudget {
  bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  /** After a slice of `bytes` was too large. */
  shrinkBelow(bytes: number): void {
    this.bytes = Math.max(1, Math.min(this.bytes, bytes) / 2);
  }
}

/**
 * The rows of all sources in slices of the budget's bytes, at least one row each. A slice is read when it is asked for.
 * The size of rows is estimated from their generation's, then from the rows read last.
 */
export async function* readSlices(sources: readonly WinnerSource[], budget: SliceBudget): AsyncGenerator<Slice> {
  let parts: Part[] = [];
  let batches: RecordBatch[] = [];
  let bytes = 0;
  for (const source of sources) {
    let rowBytes = source.rowBytes > 0 ? source.rowBytes : budget.bytes / 64;
    for (let from = 0; from < source.rowIds.length; ) {
      if (parts.length > 0 && (bytes >= budget.bytes * FULL || bytes + rowBytes > budget.bytes)) {
        yield { parts, batches, bytes };
        parts = [];
        batches = [];
        bytes = 0;
      }
      const fitting = Math.max(1, Math.floor((budget.bytes - bytes) / rowBytes));
      const to = Math.min(source.rowIds.length, from + fitting);
      const read = await source.read(from, to);
      const size = bytesOf(read);
      rowBytes = Math.max(source.rowBytes, size / (to - from));
      // Far larger than estimated: read again in fewer rows, since a commit costs several times its slice.
      if (size > 2 * budget.bytes && to - from > 1) continue;
      parts.push({ source, from, to });
      batches.push(...read);
      bytes += size;
      from = to;
    }
  }
  if (parts.length > 0) yield { parts, batches, bytes };
}

/** The rows of a slice as sources, to be read again in smaller slices; undefined when it is a single row. */
export function sourcesOf(slice: Pick<Slice, 'parts'>): WinnerSource[] | undefined {
  const rows = slice.parts.reduce((sum, part) => sum + part.to - part.from, 0);
  if (rows < 2) return undefined;
  return slice.parts.map(({ source, from, to }) => ({
    rowIds: source.rowIds.slice(from, to),
    rowBytes: source.rowBytes,
    read: (first, last) => source.read(from + first, from + last),
  }));
}

function bytesOf(batches: readonly RecordBatch[]): number {
  return batches.reduce((sum, batch) => sum + dataBytes(batch.data), 0);
}

/** Bytes of the buffers, of the children too; a dictionary counts with each batch that holds it. */
function dataBytes(data: Data): number {
  const buffers = [data.valueOffsets, data.values, data.nullBitmap, data.typeIds] as (ArrayBufferView | undefined)[];
  const own = buffers.reduce((sum, buffer) => sum + (buffer?.byteLength ?? 0), 0);
  const dictionary = data.dictionary?.data.reduce((sum, chunk) => sum + dataBytes(chunk), 0) ?? 0;
  return data.children.reduce((sum, child) => sum + dataBytes(child), own + dictionary);
}
