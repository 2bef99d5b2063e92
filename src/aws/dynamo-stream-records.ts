import type { ChangeRecord } from '../tasks/ports.ts';
import { type DynamoItem, decodeItem } from './dynamo-attributes.ts';

/** A record as Lambda hands it over and as the streams' API returns it: both have these fields. */
export interface StreamRecord {
  readonly eventName?: string | undefined;
  readonly dynamodb?:
    | {
        readonly Keys?: object | undefined;
        readonly OldImage?: object | undefined;
        readonly NewImage?: object | undefined;
        readonly SequenceNumber?: string | undefined;
      }
    | undefined;
  readonly userIdentity?: unknown;
}

const CHANGES = { INSERT: 'insert', MODIFY: 'modify', REMOVE: 'remove' } as const;

/** Undefined for a record that names no item of the ledger. */
export function changeRecordOf(record: StreamRecord): ChangeRecord | undefined {
  const { Keys, OldImage, NewImage } = record.dynamodb ?? {};
  const change = CHANGES[record.eventName as keyof typeof CHANGES];
  const key = Keys && decodeItem(Keys as DynamoItem);
  if (!change || !key?.pk || !key.sk) return undefined;
  return {
    key: { pk: key.pk, sk: key.sk },
    change,
    expired: isTimeToLive(record.userIdentity),
    ...(OldImage ? { before: decodeItem(OldImage as DynamoItem) } : {}),
    ...(NewImage ? { after: decodeItem(NewImage as DynamoItem) } : {}),
  };
}

/** DynamoDB marks removals by time to live. Lambda uses lower-case names, the streams' API upper-case ones. */
function isTimeToLive(identity: unknown): boolean {
  if (identity === null || typeof identity !== 'object') return false;
  const get = (name: string) =>
    Reflect.get(identity, name) ?? Reflect.get(identity, name[0]?.toUpperCase() + name.slice(1));
  return get('type') === 'Service' && get('principalId') === 'dynamodb.amazonaws.com';
}
