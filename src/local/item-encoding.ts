import type { Attributes, AttributeValue, Condition, Item, ItemKey, Write } from '../tasks/ports.ts';

type Encoded = string | number | boolean | readonly string[] | { readonly set: readonly string[] };

/** Attributes as JSON text; a string set is written as `{"set": [...]}` with its members in order. */
export function encodeAttributes(attributes: Attributes): string {
  const encoded: Record<string, Encoded> = {};
  for (const [name, value] of Object.entries(attributes)) {
    encoded[name] = typeof value === 'object' && 'has' in value ? { set: [...value].sort() } : value;
  }
  return JSON.stringify(encoded);
}

export function decodeItem(key: ItemKey, body: string): Item {
  const encoded = JSON.parse(body) as Record<string, Encoded>;
  const attributes: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(encoded)) {
    attributes[name] = typeof value === 'object' && 'set' in value ? new Set(value.set) : value;
  }
  return { pk: key.pk, sk: key.sk, attributes };
}

export function holds(conditions: readonly Condition[], item: Item | undefined): boolean {
  return conditions.every((condition) => holdsOne(condition, item));
}

function holdsOne(condition: Condition, item: Item | undefined): boolean {
  switch (condition.test) {
    case 'exists':
      return item !== undefined;
    case 'absent':
      return item === undefined;
    case 'any':
      return condition.of.some((one) => holdsOne(one, item));
    case 'lacks':
      return item?.attributes[condition.attribute] === undefined;
    default: {
      const value = item?.attributes[condition.attribute];
      return value !== undefined && holdsFor(condition, value);
    }
  }
}

function holdsFor(
  condition: Exclude<Condition, { test: 'exists' | 'absent' | 'any' | 'lacks' }>,
  value: AttributeValue,
): boolean {
  switch (condition.test) {
    case 'equals':
      return value === condition.value;
    case 'less':
      return typeof value === 'number' && value < condition.value;
    case 'has':
      return true;
    case 'contains':
      return value instanceof Set && value.has(condition.value);
    case 'size':
      return value instanceof Set && value.size === condition.value;
  }
}

/** The attributes after an update. A set that loses its last member is removed. */
export function updated(write: Extract<Write, { kind: 'update' }>, old: Item | undefined): Attributes {
  const attributes: Record<string, AttributeValue> = { ...old?.attributes, ...write.set };
  for (const name of write.remove ?? []) delete attributes[name];
  for (const [name, members] of Object.entries(write.add ?? {})) {
    if (members.length > 0) attributes[name] = new Set([...membersOf(attributes[name]), ...members]);
  }
  for (const [name, members] of Object.entries(write.take ?? {})) {
    const left = membersOf(attributes[name]).filter((member) => !members.includes(member));
    if (left.length > 0) attributes[name] = new Set(left);
    else delete attributes[name];
  }
  return attributes;
}

function membersOf(value: AttributeValue | undefined): readonly string[] {
  return value instanceof Set ? [...value] : [];
}
