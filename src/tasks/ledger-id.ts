import { ABSENT } from './conditions.ts';
import type { Ledger } from './ports.ts';

const KEY = { pk: 'LEDGER', sk: 'ID' } as const;

/** The ledger's own id: made with the first call, the same for ever after. Root markers carry it. */
export async function ledgerId(ledger: Ledger, newId: () => string): Promise<string> {
  const known = (await ledger.get(KEY))?.attributes.ledgerId;
  if (typeof known === 'string') return known;
  const mine = newId();
  const put = { kind: 'put', item: { ...KEY, attributes: { ledgerId: mine } }, when: [ABSENT] } as const;
  const result = await ledger.transact([put], { clientToken: newId() });
  const old = result.written ? undefined : result.refused[0]?.old?.attributes.ledgerId;
  return typeof old === 'string' ? old : mine;
}
