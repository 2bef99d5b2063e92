import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { INDEXES, type IndexName } from '../tasks/ports.ts';

/** Sort values that are numbers; the others are text. */
const NUMBERS: ReadonlySet<string> = new Set(['expiresAt', 'wakeAt', 'recheckAt', 'endedAt']);

export interface IndexDescription {
  readonly name: IndexName;
  readonly partition: { readonly name: string; readonly type: 'S' };
  readonly sort: { readonly name: string; readonly type: 'S' | 'N' };
  /** Attributes kept beside the keys; none: keys only. */
  readonly project: readonly string[];
}

/** The sparse indexes of the ledger's table. */
export const LEDGER_INDEXES: readonly IndexDescription[] = (Object.keys(INDEXES) as IndexName[]).map((name) => {
  const { partition, sort, project } = INDEXES[name];
  return {
    name,
    partition: { name: partition, type: 'S' },
    sort: { name: sort, type: NUMBERS.has(sort) ? 'N' : 'S' },
    project: project.filter((attribute) => attribute !== partition),
  };
});

/** The whole table as CreateTable takes it: on demand, with the stream that the chain runs on. */
export function ledgerTable(name: string): CreateTableCommandInput {
  const types = new Map<string, 'S' | 'N'>([
    ['pk', 'S'],
    ['sk', 'S'],
    ...LEDGER_INDEXES.flatMap(({ partition, sort }) => [
      [partition.name, partition.type] as const,
      [sort.name, sort.type] as const,
    ]),
  ]);
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [...types].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    GlobalSecondaryIndexes: LEDGER_INDEXES.map((index) => ({
      IndexName: index.name,
      KeySchema: [
        { AttributeName: index.partition.name, KeyType: 'HASH' },
        { AttributeName: index.sort.name, KeyType: 'RANGE' },
      ],
      Projection:
        index.project.length > 0
          ? { ProjectionType: 'INCLUDE', NonKeyAttributes: [...index.project] }
          : { ProjectionType: 'KEYS_ONLY' },
    })),
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  };
}
