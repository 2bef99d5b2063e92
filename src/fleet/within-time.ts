import { inParallel } from './in-parallel.ts';

export interface WithinTime<Item, Result> {
  /** Of those that ended in time, in the order of the items. */
  readonly results: readonly Result[];
  /** Those that were not begun, or not ended, when the signal aborted. */
  readonly skipped: readonly Item[];
}

/**
 * Runs `each` over the items, at most `limit` at a time, until the signal aborts. Then it answers at once with what there is:
 * nobody waits for what is still in flight, so `each` has to be harmless when it ends later, and must not throw.
 */
export async function withinTime<Item, Result>(
  items: readonly Item[],
  limit: number,
  signal: AbortSignal | undefined,
  each: (item: Item) => Promise<Result>,
): Promise<WithinTime<Item, Result>> {
  const outcomes = await inParallel(items, limit, async (item) =>
    signal?.aborted ? undefined : beforeAbort(signal, async () => ({ result: await each(item) })),
  );
  return {
    results: outcomes.flatMap((outcome) => (outcome ? [outcome.result] : [])),
    skipped: items.filter((_, index) => outcomes[index] === undefined),
  };
}

/** What the work answers, or undefined when the signal aborts before. */
export async function beforeAbort<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T | undefined> {
  if (signal === undefined) return work();
  if (signal.aborted) return undefined;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work(), promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
