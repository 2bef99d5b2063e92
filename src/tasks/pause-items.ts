import { EXISTS, equals } from './conditions.ts';
import type { TaskRecord } from './items.ts';
import { FIRST_WAKE_UP_MS, reader, taskKey } from './items.ts';
import { type LedgerContext, transact } from './ledger-context.ts';
import { EVERYTHING, type Pause } from './pause.ts';
import type { Item, ItemKey, Ledger } from './ports.ts';

const PK = 'PAUSE';
const SK_PREFIX = 'SCOPE#';
const PAGE = 100;

const pauseKey = (scope: string): ItemKey => ({ pk: PK, sk: `${SK_PREFIX}${scope}` });

/** The keys of all pauses that would cover a target: everything, each folder around it, itself. */
export function pauseKeysOf(target: string): readonly ItemKey[] {
  const scopes = [EVERYTHING];
  for (let at = target.indexOf('/', 1); at >= 0; at = target.indexOf('/', at + 1)) {
    const folder = target.slice(0, at);
    if (!folder.endsWith('/') && !folder.endsWith(':')) scopes.push(folder);
  }
  return [...scopes, target].map(pauseKey);
}

/** The first of these items that is a pause. */
export function pauseIn(items: readonly (Item | undefined)[]): Pause | undefined {
  const item = items.find((one) => one?.pk === PK);
  return item && readPause(item);
}

/** Nothing in the scope starts from now on. Running tasks finish. A second pause of the same scope replaces the first. */
export async function pause(context: LedgerContext, { scope, by, reason, since }: Pause): Promise<void> {
  await transact(context, [
    { kind: 'put', item: { ...pauseKey(scope), attributes: { scope, by, reason, since } }, when: [] },
  ]);
}

/** False when that very scope was not paused. What waited is due again within two minutes. */
export async function resume(context: LedgerContext, scope: string): Promise<boolean> {
  const result = await transact(context, [{ kind: 'delete', key: pauseKey(scope), when: [EXISTS] }]);
  return result.written;
}

export async function listPauses(ledger: Pick<Ledger, 'query'>): Promise<readonly Pause[]> {
  const pauses: Pause[] = [];
  let after: string | undefined;
  do {
    const page = await ledger.query({
      pk: PK,
      skPrefix: SK_PREFIX,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    pauses.push(...page.items.map(readPause));
    after = page.next;
  } while (after !== undefined);
  return pauses;
}

/**
 * A paused task has used up its message. It is checked each minute without a message, so a resume brings it back
 * soon, however far away its next wake-up was.
 */
export async function holdPaused(context: LedgerContext, { task, wakeAt }: TaskRecord): Promise<void> {
  if (wakeAt === undefined) return;
  const next = context.clock.now() + FIRST_WAKE_UP_MS;
  await transact(context, [
    {
      kind: 'update',
      key: taskKey(task.id),
      set: { wakeAt: next, wakeStepMs: FIRST_WAKE_UP_MS },
      when: [equals('state', 'queued'), equals('wakeAt', wakeAt)],
    },
  ]);
}

function readPause(item: Item): Pause {
  const get = reader(item.attributes);
  return { scope: get.text('scope'), by: get.text('by'), reason: get.text('reason'), since: get.number('since') ?? 0 };
}
