import type { Settings } from '../config.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Clock } from '../tasks/ports.ts';
import type { Task } from '../tasks/task.ts';
import { demand, type RuleResult } from './demand.ts';
import type { TableFacts } from './facts.ts';
import { observe } from './observe.ts';
import { type PlannedRequest, plan } from './plan.ts';
import { needsAttention, reasons } from './reasons.ts';
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
  readonly facts: TableFacts;
  readonly results: readonly RuleResult[];
  /** What the next sweep would ask for. */
  readonly plan: readonly PlannedRequest[];
  readonly openTasks: readonly Task[];
  readonly reasons: readonly string[];
  readonly attention: boolean;
}

/**
 * Looks at one table as a sweep would, and writes nothing: every rule with its value, what would be asked for, and why what is
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
  /** Undefined when the table was never read. */
  readonly facts: TableFacts | undefined;
}

/** The same from the facts that the last sweep kept, without a look at the table: for lists of many tables. */
export async function explainStored(
  options: Omit<ExplainOptions, 'store'> & { readonly facts: TableFacts | undefined },
): Promise<StoredExplanation> {
  const { clock, settings, lifecycle, target, facts } = options;
  const ledger = await readLedger(lifecycle, target);
  const { results, reasons: messages, attention } = judge({ facts, settings, now: clock.now(), ...ledger });
  return { facts, results, reasons: messages, attention, openTasks: ledger.openTasks };
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

function judge(input: LedgerView & { facts: TableFacts | undefined; settings: Settings; now: number }) {
  const { facts } = input;
  const results = facts === undefined ? [] : demand(facts, input);
  const requests =
    facts === undefined
      ? []
      : plan(facts.target, results, { ...input, facts, versionTimestamp: facts.versionTimestamp });
  const messages = reasons({ ...input, results, plan: requests });
  return { results, plan: requests, reasons: messages, attention: needsAttention(input) };
}
