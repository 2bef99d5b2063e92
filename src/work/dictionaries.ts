import { arrow, type Data, type DataType, type Dictionary } from './arrow.ts';

/** The values in use of one dictionary column, told apart by their bytes. Their place is their code. */
type Values = ReadonlyMap<string, Uint8Array>;

/**
 * One dictionary for each dictionary column of many batches, nested columns too, by the path of child indexes: the Arrow
 * file format that LanceDB takes cannot replace a dictionary between batches. Values are never decoded: Arrow's own
 * decoder strips a leading U+FEFF, and two values that differ only by it are two values.
 */
export class DictionarySet {
  readonly #columns = new Map<string, { values: Map<string, Uint8Array>; codes: Map<string, number> }>();
  readonly #vectors = new Map<string, Data['dictionary']>();

  /** These and the values of `columns`, one per column in order; undefined when a column's codes do not suffice for both. */
  with(columns: readonly (Data | undefined)[]): DictionarySet | undefined {
    const wider = new DictionarySet();
    for (const [path, { values, codes }] of this.#columns) {
      wider.#columns.set(path, { values: new Map(values), codes: new Map(codes) });
    }
    const fits = columns.map((data, index) => !data || wider.#collect(data, String(index)));
    return fits.every(Boolean) ? wider : undefined;
  }

  #collect(data: Data, path: string): boolean {
    if (!arrow.DataType.isDictionary(data.type)) {
      return data.children.map((child, index) => this.#collect(child, `${path}.${index}`)).every(Boolean);
    }
    const known = this.#columns.get(path) ?? { values: new Map(), codes: new Map() };
    this.#columns.set(path, known);
    for (const [name, bytes] of valuesInUse(data).values()) {
      if (known.codes.has(name)) continue;
      known.codes.set(name, known.codes.size);
      // A copy: the bytes belong to a batch that goes.
      known.values.set(name, bytes.slice());
    }
    return known.codes.size <= capacity(data.type as Dictionary);
  }

  /** The same column with its codes into the shared dictionary. */
  rebuild(data: Data, type: Dictionary, path: string): Data {
    const codes = new type.indices.ArrayType(data.length) as { [at: number]: number | bigint };
    const wide = codes[0] !== undefined && typeof codes[0] === 'bigint';
    const nullBitmap = new Uint8Array(Math.ceil(data.length / 64) * 8);
    const known = this.#columns.get(path)?.codes;
    const names = valuesInUse(data);
    let nullCount = 0;
    for (let row = 0; row < data.length; row += 1) {
      const used = data.getValid(row) ? names.get(Number(data.values[row])) : undefined;
      if (!used) {
        nullCount += 1;
        continue;
      }
      const code = known?.get(used[0]) as number;
      codes[row] = wide ? BigInt(code) : code;
      nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) | (1 << (row & 7));
    }
    const dictionary = this.#vector(path, type);
    return arrow.makeData({
      type,
      length: data.length,
      nullCount,
      nullBitmap,
      data: codes,
      dictionary,
    } as never) as Data;
  }

  #vector(path: string, type: Dictionary): NonNullable<Data['dictionary']> {
    const made = this.#vectors.get(path);
    if (made) return made;
    const values = this.#columns.get(path)?.values ?? new Map<string, Uint8Array>();
    const vector = new arrow.Vector([dictionaryData(type.dictionary as DataType, values)]);
    this.#vectors.set(path, vector as NonNullable<Data['dictionary']>);
    return vector as NonNullable<Data['dictionary']>;
  }
}

function capacity(type: Dictionary): number {
  return 2 ** (type.indices.bitWidth - (type.indices.isSigned ? 1 : 0));
}

/** By code of this batch: the bytes of the value as a name and as they are. A null in the dictionary is left out. */
function valuesInUse(data: Data): Map<number, [string, Uint8Array]> {
  const used = new Map<number, [string, Uint8Array]>();
  for (let row = 0; row < data.length; row += 1) {
    if (!data.getValid(row)) continue;
    const code = Number(data.values[row]);
    if (used.has(code)) continue;
    const bytes = valueAt(data.dictionary, code);
    if (bytes)
      used.set(code, [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'), bytes]);
  }
  return used;
}

function valueAt(dictionary: Data['dictionary'], code: number): Uint8Array | undefined {
  let at = code;
  for (const chunk of dictionary?.data ?? []) {
    if (at >= chunk.length) {
      at -= chunk.length;
      continue;
    }
    if (!chunk.getValid(at)) return undefined;
    const values = chunk.values as Uint8Array;
    const { buffer, byteOffset, BYTES_PER_ELEMENT } = values;
    const offsets = chunk.valueOffsets as unknown as ArrayLike<number | bigint> | undefined;
    if (offsets?.length) return values.subarray(Number(offsets[at]), Number(offsets[at + 1]));
    const width = BYTES_PER_ELEMENT * chunk.stride;
    return new Uint8Array(buffer, byteOffset + at * width, width);
  }
  return undefined;
}

function dictionaryData(type: DataType, values: Values): Data {
  const bytes = new Uint8Array(Buffer.concat([...values.values()]));
  const length = values.size;
  const { DataType: is } = arrow;
  const large = is.isLargeUtf8(type) || is.isLargeBinary(type);
  if (!large && !is.isUtf8(type) && !is.isBinary(type)) {
    const { ArrayType } = type as unknown as { ArrayType: new (buffer: ArrayBuffer) => Uint8Array };
    return arrow.makeData({ type, length, nullCount: 0, data: new ArrayType(bytes.buffer) } as never) as Data;
  }
  const valueOffsets = large ? new BigInt64Array(length + 1) : new Int32Array(length + 1);
  let end = 0;
  [...values.values()].forEach((value, index) => {
    end += value.byteLength;
    (valueOffsets as { [at: number]: number | bigint })[index + 1] = large ? BigInt(end) : end;
  });
  return arrow.makeData({ type, length, nullCount: 0, valueOffsets, data: bytes } as never) as Data;
}
