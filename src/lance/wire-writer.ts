import type { WireField, WireMessage, WireType } from './wire.ts';

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Shortest form, as every protobuf encoder writes it. `value` is not negative and fits 64 bits. */
export function encodeVarint(value: number | bigint): Uint8Array {
  let rest = BigInt(value);
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

function tag(number: number, type: WireType): Uint8Array {
  return encodeVarint(BigInt(number) * 8n + BigInt(type));
}

export function varintField(number: number, value: number | bigint): Uint8Array {
  return concatBytes([tag(number, 0), encodeVarint(value)]);
}

export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return concatBytes([tag(number, 2), encodeVarint(value.length), value]);
}

export function textField(number: number, value: string): Uint8Array {
  return bytesField(number, new TextEncoder().encode(value));
}

/** A 64-bit (8 bytes) or 32-bit (4 bytes) field; `value` holds the bytes as they are. */
export function fixedField(number: number, value: Uint8Array): Uint8Array {
  return concatBytes([tag(number, value.length === 8 ? 1 : 5), value]);
}

/** Lance's `UUID {1: bytes16}` as field `number`. */
export function uuidField(number: number, uuid: string): Uint8Array {
  return bytesField(number, bytesField(1, Buffer.from(uuid.replaceAll('-', ''), 'hex')));
}

/** The field exactly as it was read, tag included. */
export function rawField(message: WireMessage, field: WireField): Uint8Array {
  return message.source.bytes.subarray(field.start, field.end);
}

/**
 * The message with some field numbers replaced; every other field, known or not, keeps its bytes and its place.
 * A replacement stands where the first field of its number stood, or in front of the first greater number.
 * `null` drops the field.
 */
export function withFields(message: WireMessage, changes: ReadonlyMap<number, Uint8Array | null>): Uint8Array {
  const parts: Uint8Array[] = [];
  const open = new Map([...changes].sort(([a], [b]) => a - b));
  const present = new Set(message.fields.map((field) => field.number));
  for (const field of message.fields) {
    for (const [number, bytes] of open) {
      if (number >= field.number) break;
      if (present.has(number)) continue;
      if (bytes) parts.push(bytes);
      open.delete(number);
    }
    if (!changes.has(field.number)) parts.push(rawField(message, field));
    else {
      const bytes = open.get(field.number);
      if (bytes) parts.push(bytes);
      open.delete(field.number);
    }
  }
  for (const bytes of open.values()) if (bytes) parts.push(bytes);
  return concatBytes(parts);
}
