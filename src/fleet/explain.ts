import type { Settings } from '../config.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Clock } from '../tasks/ports.ts';
import type { Task } from '../tasks/task.ts';
import { demand, type Verdict } from './demand.ts';
import type { StoreFacts } from './facts.ts';
import { observe } from './observe.ts';
import { type PlannedRequest, plan } from './plan.ts';
import { because, needsAttention } from './reasons.ts';
import type { FleetLedger } from './sweep-ledger.ts';

export interface ExplainOptions {
  /** Rooted at `target`. */
  readonly store: ObjectStore;
  /** Canonical. */
  readonly target: string;
  readonly lifecycle: FleetLedger;
  readonly settings: Settings;
  readonly clock: Pick<Clock, 'now'>;
}

export interface Explanation {
  readonly facts: StoreFacts;
  readonly verdicts: readonly Verdict[];
  /** What the next sweep would ask for. */
  readonly plan: readonly PlannedRequest[];
  readonly openTasks: readonly Task[];
  readonly because: readonly string[];
  readonly attention: boolean;
}

/**
 * Looks at one store as a sweep would, and writes nothing: every rule with its value, what would be asked for, and why what is
 * open does not run. Errors: those of observe().
 */
export async function explain(options: ExplainOptions): Promise<Explanation> {
  const { clock, settings, lifecycle, store, target } = options;
  const now = clock.now();
  const facts = await observe(store, target, settings, now);
  const ledger = await readLedger(lifecycle, target);
  return { facts, ...judge({ facts, settings, now, ...ledger }), openTasks: ledger.openTasks };
}

export interface StoredExplanation extends Omit<Explanation, 'facts' | 'plan'> {
  /** Undefined when the store was never read. */
  readonly facts: StoreFacts | undefined;
}

/** The same from the facts that the last sweep kept, without a look at the store: for lists of many stores. */
export async function explainStored(
  options: Omit<ExplainOptions, 'store'> & { readonly facts: StoreFacts | undefined },
): Promise<StoredExplanation> {
  const { clock, settings, lifecycle, target, facts } = options;
  const ledger = await readLedger(lifecycle, target);
  const { verdicts, because: sentences, attention } = judge({ facts, settings, now: clock.now(), ...ledger });
  return { facts, verdicts, because: sentences, attention, openTasks: ledger.openTasks };
}

type LedgerView = Awaited<ReturnType<typeof readLedger>>;

async function readLedger(lifecycle: FleetLedger, target: string) {
  const [openTasks, health, lease] = await Promise.all([
    lifecycle.openTasks(target),
    lifecycle.health(target),
    lifecycle.leaseOf(target),
  ]);
  return { openTasks, health, lease };
}

function judge(input: LedgerView & { facts: StoreFacts | undefined; settings: Settings; now: number }) {
  const { facts } = input;
  const verdicts = facts === undefined ? [] : demand(facts, input);
  const requests =
    facts === undefined
      ? []
      : plan(facts.target, verdicts, { ...input, facts, versionTimestamp: facts.versionTimestamp });
  const sentences = because({ ...input, verdicts, plan: requests });
  return { verdicts, plan: requests, because: sentences, attention: needsAttention(input) };
}
