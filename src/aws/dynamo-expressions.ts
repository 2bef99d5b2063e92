import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { ledgerRequestInvalid } from '../tasks/ledger-requests.ts';
import type { AttributeValue, Condition, Write } from '../tasks/ports.ts';
import { type DynamoItem, encodeItem, encodeKey, encodeValue, isSet } from './dynamo-attributes.ts';

/** Names and values of one request, each behind a placeholder: attribute names may be reserved words. */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: DynamoItem = {};
  readonly #known = new Map<string, string>();

  name(attribute: string): string {
    const known = this.#known.get(attribute);
    if (known !== undefined) return known;
    const placeholder = `#n${this.#known.size}`;
    this.#known.set(attribute, placeholder);
    this.names[placeholder] = attribute;
    return placeholder;
  }

  value(value: AttributeValue): string {
    const placeholder = `:v${Object.keys(this.values).length}`;
    this.values[placeholder] = encodeValue(value);
    return placeholder;
  }

  get request() {
    return {
      ...(Object.keys(this.names).length > 0 ? { ExpressionAttributeNames: this.names } : {}),
      ...(Object.keys(this.values).length > 0 ? { ExpressionAttributeValues: this.values } : {}),
    };
  }
}

/** One write in DynamoDB's form. A failed condition returns the old item. */
export function transactItem(write: Write, TableName: string): TransactWriteItem {
  const placeholders = new Placeholders();
  const condition = conjunction(write.when, placeholders);
  const shared = {
    TableName,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    ...(condition === undefined ? {} : { ConditionExpression: condition }),
  };
  switch (write.kind) {
    case 'put':
      return { Put: { ...shared, Item: encodeItem(write.item), ...placeholders.request } };
    case 'delete':
      return { Delete: { ...shared, Key: encodeKey(write.key), ...placeholders.request } };
    case 'check': {
      // DynamoDB does not allow a check without a condition, and it would always hold.
      const ConditionExpression = condition ?? 'attribute_exists(pk) OR attribute_not_exists(pk)';
      return { ConditionCheck: { ...shared, ConditionExpression, Key: encodeKey(write.key), ...placeholders.request } };
    }
    case 'update': {
      const UpdateExpression = changes(write, placeholders);
      return { Update: { ...shared, UpdateExpression, Key: encodeKey(write.key), ...placeholders.request } };
    }
  }
}

/** An attribute may appear in one clause only. One that is both set and removed is removed. */
function changes(write: Extract<Write, { kind: 'update' }>, placeholders: Placeholders): string {
  const emptied = Object.entries(write.set ?? {}).flatMap(([name, value]) =>
    isSet(value) && value.size === 0 ? [name] : [],
  );
  const removed = new Set([...(write.remove ?? []), ...emptied]);
  const set = Object.entries(write.set ?? {}).filter(([name]) => !removed.has(name));
  const add = membersOf(write.add);
  const take = membersOf(write.take);
  const named = [...set.map(([name]) => name), ...removed, ...add.map(([name]) => name), ...take.map(([name]) => name)];
  if (new Set(named).size !== named.length) {
    throw ledgerRequestInvalid('One update of the ledger changes an attribute in two ways.');
  }
  const sets = (entries: readonly (readonly [string, readonly string[]])[]) =>
    entries.map(([name, members]) => `${placeholders.name(name)} ${placeholders.value(new Set(members))}`);
  const clauses: readonly (readonly [string, readonly string[]])[] = [
    ['SET', set.map(([name, value]) => `${placeholders.name(name)} = ${placeholders.value(value)}`)],
    ['REMOVE', [...removed].map((name) => placeholders.name(name))],
    ['ADD', sets(add)],
    ['DELETE', sets(take)],
  ];
  const written = clauses.filter(([, parts]) => parts.length > 0).map(([word, parts]) => `${word} ${parts.join(', ')}`);
  // An empty update still creates a missing item.
  return written.length > 0 ? written.join(' ') : `REMOVE ${placeholders.name('nothing')}`;
}

function membersOf(sets: Readonly<Record<string, readonly string[]>> | undefined) {
  return Object.entries(sets ?? {}).filter(([, members]) => members.length > 0);
}

function conjunction(conditions: readonly Condition[], placeholders: Placeholders): string | undefined {
  if (conditions.length === 0) return undefined;
  return conditions.map((condition) => expressionOf(condition, placeholders)).join(' AND ');
}

function expressionOf(condition: Condition, placeholders: Placeholders): string {
  const name = 'attribute' in condition ? placeholders.name(condition.attribute) : 'pk';
  switch (condition.test) {
    case 'exists':
    case 'has':
      return `attribute_exists(${name})`;
    case 'absent':
    case 'lacks':
      return `attribute_not_exists(${name})`;
    case 'equals':
      return `${name} = ${placeholders.value(condition.value)}`;
    case 'less':
      return `${name} < ${placeholders.value(condition.value)}`;
    // Both also work on strings, where they would mean something else.
    case 'contains':
      return `(attribute_type(${name}, ${placeholders.value('SS')}) AND contains(${name}, ${placeholders.value(condition.value)}))`;
    case 'size':
      return `(attribute_type(${name}, ${placeholders.value('SS')}) AND size(${name}) = ${placeholders.value(condition.value)})`;
    case 'any': {
      const never = '(attribute_exists(pk) AND attribute_not_exists(pk))';
      const parts = condition.of.map((one) => expressionOf(one, placeholders));
      return parts.length === 0 ? never : `(${parts.join(' OR ')})`;
    }
  }
}
