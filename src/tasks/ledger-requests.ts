import { UpkeepError } from '../errors.ts';
import { type ItemKey, MAX_KEYS, MAX_WRITES, type Write } from './ports.ts';

/** A request that no adapter of the ledger can carry out: LEDGER_REQUEST_INVALID (permanent). */
export function ledgerRequestInvalid(message: string, cause?: unknown): UpkeepError {
  return new UpkeepError(message, {
    code: 'LEDGER_REQUEST_INVALID',
    disposition: 'permanent',
    ...(cause === undefined ? {} : { cause }),
  });
}

/** @throws LEDGER_REQUEST_INVALID above MAX_KEYS. */
export function assertKeys(keys: readonly ItemKey[]): void {
  if (keys.length > MAX_KEYS) throw tooMany('keys', keys.length, MAX_KEYS);
}

/** @throws LEDGER_REQUEST_INVALID above MAX_WRITES, or when two writes name the same item. */
export function assertWrites(writes: readonly Write[]): void {
  if (writes.length > MAX_WRITES) throw tooMany('writes', writes.length, MAX_WRITES);
  const names = new Set(writes.map((write) => nameOfKey(keyOfWrite(write))));
  if (names.size !== writes.length) throw ledgerRequestInvalid('Two writes of one transaction name the same item.');
}

export function keyOfWrite(write: Write): ItemKey {
  return write.kind === 'put' ? write.item : write.key;
}

/** A key as one text: equal for equal keys only. */
export function nameOfKey({ pk, sk }: ItemKey): string {
  return JSON.stringify([pk, sk]);
}

function tooMany(what: string, count: number, most: number): UpkeepError {
  return ledgerRequestInvalid(`One call to the ledger named ${count} ${what}; at most ${most} are possible.`);
}
