import type { TaskPage } from './api.ts';
import { cursorInvalid } from './errors.ts';
import { reader, readTask, shards } from './items.ts';
import type { LedgerContext } from './ledger-context.ts';
import type { IndexName, Item } from './ports.ts';

const LARGEST_PAGE = 100;
/** The sort value of a task: its time and its id. */
const CURSOR = /^\d{15}#[\x21-\x7e]{0,200}$/;

/**
 * One page over several partitions of an index, greatest sort value first. The cursor is the last sort value itself,
 * so a page costs the same wherever it is.
 */
export async function mergedPage(
  context: LedgerContext,
  page: {
    readonly index: IndexName;
    readonly partitions: readonly string[];
    readonly sort: string;
    readonly limit: number;
    readonly after?: string;
  },
): Promise<{ readonly entries: readonly Item[]; readonly next: string | null }> {
  const limit = Math.max(1, Math.min(LARGEST_PAGE, page.limit));
  const query = {
    index: page.index,
    order: 'descending' as const,
    limit: limit + 1,
    ...(page.after === undefined ? {} : { before: page.after }),
  };
  const found = await Promise.all(
    page.partitions.map((partition) => context.ledger.queryIndex({ ...query, partition })),
  );
  const sortOf = (item: Item): string => reader(item.attributes).text(page.sort);
  const all = found.flat().sort((left, right) => (sortOf(left) < sortOf(right) ? 1 : -1));
  const entries = all.slice(0, limit);
  const last = entries.at(-1);
  return { entries, next: all.length > limit && last ? sortOf(last) : null };
}

/** The history: tasks by creation, newest first, of one target or of all. */
export async function listTasks(
  context: LedgerContext,
  page: { readonly target?: string; readonly limit: number; readonly after?: string },
): Promise<TaskPage> {
  const { target, ...rest } = page;
  if (page.after !== undefined && !CURSOR.test(page.after)) throw cursorInvalid(page.after);
  const hints = await mergedPage(
    context,
    target === undefined
      ? { index: 'recent', partitions: shards, sort: 'recentSort', ...rest }
      : { index: 'target-tasks', partitions: [target], sort: 'recentSort', ...rest },
  );
  const items = await context.ledger.getMany(hints.entries.map(({ pk, sk }) => ({ pk, sk })));
  return { tasks: items.flatMap((item) => (item ? [readTask(item).task] : [])), next: hints.next };
}
