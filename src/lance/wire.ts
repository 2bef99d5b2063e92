import { type UnreadableCode, unreadable, unsupported } from './errors.ts';

/** Varint, 64-bit, length-delimited, 32-bit. Groups (3, 4) are not used by Lance and are refused. */
export type WireType = 0 | 1 | 2 | 5;

/** The bytes being decoded and how their damage is reported. */
export interface WireSource {
  /** Key of the object, for messages. */
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly code: UnreadableCode;
}

/** One field as it lies in the file; all offsets are absolute. `[start, end)` is the field with its tag. */
export interface WireField {
  readonly number: number;
  readonly type: WireType;
  readonly start: number;
  /** First byte after the tag and, for length-delimited fields, after the length. */
  readonly valueStart: number;
  readonly end: number;
}

/** A protobuf message whose fields keep their order and raw bytes, known or not. */
export interface WireMessage {
  readonly source: WireSource;
  /** For error messages: `Manifest`, `DataFragment`, ... */
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly fields: readonly WireField[];
}

const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function varintEnd(source: WireSource, start: number, end: number, name: string, number?: number): number {
  // Nearly all tags and lengths take one byte.
  if (start < end && (source.bytes[start] as number) < 0x80) return start + 1;
  for (let at = start; at < end && at < start + 10; at++) {
    const byte = source.bytes[at] as number;
    if (byte < 0x80) {
      // The tenth byte holds bit 63 only.
      if (at === start + 9 && byte > 1) break;
      return at + 1;
    }
  }
  const what = number === undefined ? `a tag of ${name}` : `field ${number} of ${name}`;
  throw unreadable(source.code, source.file, start, `a varint of at most 64 bits for ${what} before byte ${end}`);
}

/** Exact up to 2^53 - 1; larger values come back inexact but above it, so that callers can tell. */
function varintValue(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  let scale = 1;
  for (let at = start; at < end; at++) {
    value += ((bytes[at] as number) & 0x7f) * scale;
    scale *= 128;
  }
  return value;
}

/** All 64 bits, from three parts of at most 28 bits, since arithmetic on bigints is slow. */
function varintBits(bytes: Uint8Array, start: number, end: number): bigint {
  const part = (from: number) => BigInt(varintValue(bytes, Math.min(from, end), Math.min(from + 4, end)));
  return part(start) | (part(start + 4) << 28n) | (part(start + 8) << 56n);
}

/** Splits `[start, end)` into fields. Throws the source's unreadable code on anything that is not a whole message. */
export function messageAt(source: WireSource, start: number, end: number, name: string): WireMessage {
  const { bytes } = source;
  const fields: WireField[] = [];
  let at = start;
  while (at < end) {
    const fieldStart = at;
    const tagEnd = varintEnd(source, at, end, name);
    const tag = varintValue(bytes, at, tagEnd);
    const number = Math.floor(tag / 8);
    const type = tag % 8;
    if (number < 1 || number > 0x1fffffff) {
      throw unreadable(source.code, source.file, at, `a field number of ${name} between 1 and 536870911`);
    }
    at = tagEnd;
    let valueStart = at;
    if (type === 0) {
      at = varintEnd(source, at, end, name, number);
    } else if (type === 1 || type === 5) {
      at += type === 1 ? 8 : 4;
    } else if (type === 2) {
      valueStart = varintEnd(source, at, end, name, number);
      at = valueStart + varintValue(bytes, at, valueStart);
    } else {
      throw unreadable(source.code, source.file, fieldStart, `wire type 0, 1, 2 or 5 in ${name}, found ${type}`);
    }
    if (at > end) {
      throw unreadable(source.code, source.file, fieldStart, `field ${number} of ${name} to end by byte ${end}`);
    }
    fields.push({ number, type, start: fieldStart, valueStart, end: at });
  }
  return { source, name, start, end, fields };
}

function expectType(message: WireMessage, field: WireField, type: WireType): void {
  if (field.type === type) return;
  const { source, name } = message;
  throw unreadable(source.code, source.file, field.start, `wire type ${type} for field ${field.number} of ${name}`);
}

/** The last field of that number, as protobuf wants for singular fields. Undefined when absent. */
export function lastField(message: WireMessage, number: number): WireField | undefined {
  for (let at = message.fields.length - 1; at >= 0; at--) {
    const field = message.fields[at] as WireField;
    if (field.number === number) return field;
  }
  return undefined;
}

export function fieldsOf(message: WireMessage, number: number): WireField[] {
  return message.fields.filter((field) => field.number === number);
}

/** An unsigned varint field as a number. Throws `MANIFEST_UNSUPPORTED` above 2^53 - 1. */
export function unsignedValue(message: WireMessage, field: WireField): number {
  expectType(message, field, 0);
  const value = varintValue(message.source.bytes, field.valueStart, field.end);
  if (value > Number.MAX_SAFE_INTEGER) {
    throw unsupported(
      message.source.file,
      `holds a number above 2^53 - 1 in field ${field.number} of ${message.name} at byte ${field.start}`,
      'numbers up to 9007199254740991',
      { offset: field.start },
    );
  }
  return value;
}

/** Absent is undefined, which is not the same as a 0 that was written. */
export function optionalUnsigned(message: WireMessage, number: number): number | undefined {
  const field = lastField(message, number);
  return field && unsignedValue(message, field);
}

/** Absent is 0, as in proto3. */
export function unsigned(message: WireMessage, number: number): number {
  return optionalUnsigned(message, number) ?? 0;
}

function signed32(bytes: Uint8Array, start: number, end: number): number {
  return end - start < 5 ? varintValue(bytes, start, end) : Number(BigInt.asIntN(32, varintBits(bytes, start, end)));
}

export function signed(message: WireMessage, number: number): number {
  const field = lastField(message, number);
  if (!field) return 0;
  expectType(message, field, 0);
  return signed32(message.source.bytes, field.valueStart, field.end);
}

/** A repeated int32, packed or not. */
export function signedList(message: WireMessage, number: number): number[] {
  const { source } = message;
  const values: number[] = [];
  for (const field of message.fields) {
    if (field.number !== number) continue;
    if (field.type === 0) {
      values.push(signed32(source.bytes, field.valueStart, field.end));
      continue;
    }
    expectType(message, field, 2);
    for (let at = field.valueStart; at < field.end; ) {
      const next = varintEnd(source, at, field.end, message.name, number);
      values.push(signed32(source.bytes, at, next));
      at = next;
    }
  }
  return values;
}

export function bytesValue(message: WireMessage, field: WireField): Uint8Array {
  expectType(message, field, 2);
  return message.source.bytes.subarray(field.valueStart, field.end);
}

export function textValue(message: WireMessage, field: WireField): string {
  try {
    return textDecoder.decode(bytesValue(message, field));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const { source, name } = message;
    throw unreadable(source.code, source.file, field.valueStart, `UTF-8 text in field ${field.number} of ${name}`);
  }
}

/** Absent is undefined. */
export function text(message: WireMessage, number: number): string | undefined {
  const field = lastField(message, number);
  return field && textValue(message, field);
}

export function nested(message: WireMessage, field: WireField, name: string): WireMessage {
  expectType(message, field, 2);
  return messageAt(message.source, field.valueStart, field.end, name);
}

export function nestedAll(message: WireMessage, number: number, name: string): WireMessage[] {
  return fieldsOf(message, number).map((field) => nested(message, field, name));
}

/** A `map<string, string>` or `map<string, bytes>` whose values are wanted as text. */
export function textMap(message: WireMessage, number: number, name: string): Record<string, string> {
  const entries = nestedAll(message, number, name).map((entry) => [text(entry, 1) ?? '', text(entry, 2) ?? '']);
  return Object.fromEntries(entries);
}

/** The canonical text form of Lance's `UUID {1: bytes16}` message. */
export function uuidValue(message: WireMessage, field: WireField): string {
  const uuid = nested(message, field, 'UUID');
  const inner = lastField(uuid, 1);
  const bytes = inner && bytesValue(uuid, inner);
  if (bytes?.length !== 16) {
    const { source, name } = message;
    throw unreadable(source.code, source.file, field.start, `a UUID of 16 bytes in field ${field.number} of ${name}`);
  }
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, 16).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** A varint field with all its 64 bits, for ids that are random numbers. Absent is 0. */
export function unsignedBits(message: WireMessage, number: number): bigint {
  const field = lastField(message, number);
  return field ? varintFieldBits(message, field) : 0n;
}

/** A varint field with all its 64 bits; for re-encoding. */
export function varintFieldBits(message: WireMessage, field: WireField): bigint {
  expectType(message, field, 0);
  return varintBits(message.source.bytes, field.valueStart, field.end);
}
