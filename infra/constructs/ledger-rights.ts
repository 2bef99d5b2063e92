import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LEDGER_INDEXES } from '../../src/aws/dynamo-table.ts';

/**
 * What a function does to the ledger's items. A transaction has no right of its own: it needs the rights of what it does.
 * - `work`: admits, claims, renews, settles. It looks up what it knows by name, and removes nothing.
 * - `decide`: tells dependents as well, which it looks for and whose edges it removes.
 * - `search`: looks for what is due, too.
 */
const WORK = ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem'];
const DECIDE = [...WORK, 'Query', 'DeleteItem'];

interface LedgerRights {
  readonly actions: readonly string[];
  readonly indexes: boolean;
}

export const RIGHTS: Readonly<Record<'work' | 'decide' | 'search', LedgerRights>> = {
  work: { actions: WORK, indexes: false },
  decide: { actions: DECIDE, indexes: false },
  search: { actions: DECIDE, indexes: true },
};

export function grantTable(table: Table, role: IRole, { actions, indexes }: LedgerRights): void {
  const named = actions.map((action) => `dynamodb:${action}`);
  role.addToPrincipalPolicy(new PolicyStatement({ sid: 'Ledger', actions: named, resources: [table.tableArn] }));
  if (!indexes) return;
  const resources = LEDGER_INDEXES.map(({ name }) => `${table.tableArn}/index/${name}`);
  role.addToPrincipalPolicy(new PolicyStatement({ sid: 'Indexes', actions: ['dynamodb:Query'], resources }));
}
