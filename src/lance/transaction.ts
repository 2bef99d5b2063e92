import { text, unsigned, type WireMessage } from './wire.ts';

const OPERATIONS: Readonly<Record<number, string>> = {
  100: 'Append',
  101: 'Delete',
  102: 'Overwrite',
  103: 'CreateIndex',
  104: 'Rewrite',
  105: 'Merge',
  106: 'Restore',
  107: 'ReserveFragments',
  108: 'Update',
  109: 'Project',
  110: 'UpdateConfig',
  111: 'DataReplacement',
  112: 'UpdateMemWalState',
  113: 'Clone',
  114: 'UpdateBases',
  115: 'DataOverlay',
  116: 'CompositeOperation',
};
/** Field numbers of `Transaction` for the operations of our own commits. */
export const OPERATION_FIELD = { createIndex: 103, update: 108 } as const;

/** What the commit behind a manifest was. */
export interface CommitTransaction {
  /** `Append`, `Update`, `Rewrite`, ...; `Unknown` for a kind that this version does not name. */
  readonly operation: string;
  readonly readVersion: number;
  readonly uuid: string;
}

export function decodeTransaction(message: WireMessage): CommitTransaction {
  const operation = message.fields.find((field) => field.number >= 100);
  return {
    operation: (operation && OPERATIONS[operation.number]) ?? 'Unknown',
    readVersion: unsigned(message, 1),
    uuid: text(message, 2) ?? '',
  };
}
