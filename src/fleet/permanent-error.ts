import { typedErrorIn, type UpkeepError } from '../errors.ts';

/** The typed error if repeating cannot help: it belongs into the facts. Undefined for all others, which have to be thrown on. */
export function permanentErrorIn(error: unknown): UpkeepError | undefined {
  const typed = typedErrorIn(error);
  return typed?.disposition === 'permanent' ? typed : undefined;
}
