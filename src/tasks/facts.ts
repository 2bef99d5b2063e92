import type { StoredFacts } from './api.ts';
import { anyOf, equals, lacks, lessThan } from './conditions.ts';
import { factsKey, reader, shardOf, shards, sortableTime } from './items.ts';
import { type LedgerContext, transact } from './ledger-context.ts';
import { mergedPage } from './pages.ts';
import type { Item } from './ports.ts';

/** Keeps an observation. Returns false when a newer one is there. */
export async function putFacts(
  context: LedgerContext,
  facts: StoredFacts & { readonly need: number },
): Promise<boolean> {
  const { target, observedAt, need } = facts;
  const result = await transact(context, [
    {
      kind: 'update',
      key: factsKey(target),
      set: {
        target,
        observedAt,
        facts: JSON.stringify(facts.facts),
        needShard: shardOf(target),
        needSort: `${sortableTime(need)}#${target}`,
      },
      when: [anyOf(lacks('observedAt'), lessThan('observedAt', observedAt))],
    },
  ]);
  return result.written;
}

export async function getFacts(context: LedgerContext, target: string): Promise<StoredFacts | undefined> {
  const item = await context.ledger.get(factsKey(target));
  return item && readFacts(item);
}

/** Drops the observation of a table that is gone. Returns false when a newer one is there. */
export async function forgetFacts(context: LedgerContext, target: string, observedAt: number): Promise<boolean> {
  const when = [equals('observedAt', observedAt)] as const;
  const result = await transact(context, [{ kind: 'delete', key: factsKey(target), when }]);
  return result.written;
}

/** All tables' facts by need, greatest first. */
export async function listFacts(context: LedgerContext, page: { readonly limit: number; readonly after?: string }) {
  const hints = await mergedPage(context, { index: 'needs', partitions: shards, sort: 'needSort', ...page });
  const items = await readItems(context, hints.entries);
  return { facts: items.map(readFacts), next: hints.next };
}

async function readItems(context: LedgerContext, entries: readonly Item[]): Promise<readonly Item[]> {
  const items = await context.ledger.getMany(entries.map(({ pk, sk }) => ({ pk, sk })));
  return items.filter((item) => item !== undefined);
}

function readFacts(item: Item): StoredFacts {
  const get = reader(item.attributes);
  return { target: get.text('target'), observedAt: get.number('observedAt') ?? 0, facts: get.json('facts') };
}
