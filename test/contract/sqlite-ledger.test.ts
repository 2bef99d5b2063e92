import { createSqliteLedger } from '../../src/local/sqlite-ledger.ts';
import { describeLedgerContract } from './describe-ledger-contract.ts';

describeLedgerContract('the SQLite ledger', (clock) => {
  const ledger = createSqliteLedger({ file: ':memory:', clock });
  return { ledger, feed: ledger.feed, close: () => ledger.close() };
});
