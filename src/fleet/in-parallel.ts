/**
 * Runs `each` over the items, at most `limit` at a time; results in the order of the items.
 * The first error stops further items from being started and is thrown once the running ones have ended.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  limit: number,
  each: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const entries = items.entries();
  let failed: { error: unknown } | undefined;
  const worker = async () => {
    for (const [index, item] of entries) {
      if (failed) return;
      try {
        results[index] = await each(item);
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failed) throw failed.error;
  return results;
}
