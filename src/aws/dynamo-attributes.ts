import type { AttributeValue as DynamoValue } from '@aws-sdk/client-dynamodb';
import { ledgerRequestInvalid } from '../tasks/ledger-requests.ts';
import type { Attributes, AttributeValue, Item, ItemKey } from '../tasks/ports.ts';

export type DynamoItem = Record<string, DynamoValue>;

export function encodeKey({ pk, sk }: ItemKey): DynamoItem {
  return { pk: { S: pk }, sk: { S: sk } };
}

export function encodeItem(item: Item): DynamoItem {
  return { ...encodeAttributes(item.attributes), ...encodeKey(item) };
}

/** An empty string set is left out. Members are sorted, so a repeated call is identical. */
export function encodeAttributes(attributes: Attributes): DynamoItem {
  const encoded: DynamoItem = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (isSet(value) && value.size === 0) continue;
    encoded[name] = encodeValue(value);
  }
  return encoded;
}

export function encodeValue(value: AttributeValue): DynamoValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'boolean') return { BOOL: value };
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw ledgerRequestInvalid(`The number ${value} cannot be stored.`);
    return { N: String(value) };
  }
  if (isSet(value)) return { SS: [...value].sort() };
  return { L: value.map((member) => ({ S: member })) };
}

export function decodeItem(item: DynamoItem): Item {
  const { pk, sk, ...rest } = item;
  return { pk: pk?.S ?? '', sk: sk?.S ?? '', attributes: decodeAttributes(rest) };
}

function decodeAttributes(encoded: DynamoItem): Attributes {
  const attributes: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(encoded)) {
    const decoded = decodeValue(value);
    if (decoded !== undefined) attributes[name] = decoded;
  }
  return attributes;
}

/** Types that the ledger never writes read as absent. */
function decodeValue(value: DynamoValue): AttributeValue | undefined {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.SS !== undefined) return new Set(value.SS);
  if (value.L !== undefined) return value.L.map((member) => member.S ?? '');
  return undefined;
}

export function isSet(value: AttributeValue): value is ReadonlySet<string> {
  return typeof value === 'object' && 'has' in value;
}
