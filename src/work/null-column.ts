import { arrow, type Data, type DataType } from './arrow.ts';

/**
 * A column of nulls of any type, with every buffer at its full length. Arrow's own builders leave the child of a
 * fixed-size list too short when it ends in nulls, which LanceDB refuses to read.
 */
export function nullColumn(type: DataType, length: number): Data {
  const { DataType: is } = arrow;
  const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  const base = { type, length, nullCount: length, nullBitmap };
  if (is.isNull(type)) return make({ type, length });
  if (is.isFixedSizeList(type)) {
    return make({ ...base, child: nullColumn(childType(type), length * type.listSize) });
  }
  if (is.isStruct(type)) {
    return make({ ...base, children: type.children.map((field) => nullColumn(field.type, length)) });
  }
  if (is.isList(type) || is.isMap(type)) {
    return make({ ...base, valueOffsets: new Int32Array(length + 1), child: nullColumn(childType(type), 0) });
  }
  if (is.isDictionary(type)) {
    const dictionary = arrow.vectorFromArray([], type.dictionary as DataType);
    return make({ ...base, data: new type.indices.ArrayType(length), dictionary });
  }
  if (is.isUtf8(type) || is.isBinary(type)) {
    return make({ ...base, valueOffsets: new Int32Array(length + 1), data: new Uint8Array(0) });
  }
  if (is.isLargeUtf8(type) || is.isLargeBinary(type)) {
    return make({ ...base, valueOffsets: new BigInt64Array(length + 1), data: new Uint8Array(0) });
  }
  if (is.isBool(type)) return make({ ...base, data: new Uint8Array(nullBitmap.length) });
  return make({ ...base, data: fixedWidthValues(type, length) });
}

function fixedWidthValues(type: DataType, length: number) {
  const { ArrayType } = type as unknown as { ArrayType: new (length: number) => Uint8Array };
  return new ArrayType(length * elementsPerValue(type));
}

/** Decimals are kept as 32-bit words, fixed binary as bytes; everything else takes one element a value. */
function elementsPerValue(type: DataType): number {
  if (arrow.DataType.isDecimal(type)) return type.bitWidth / 32;
  if (arrow.DataType.isFixedSizeBinary(type)) return type.byteWidth;
  return 1;
}

function childType(type: DataType): DataType {
  return (type.children as { type: DataType }[])[0]?.type as DataType;
}

function make(props: object): Data {
  return arrow.makeData(props as never) as unknown as Data;
}
