import type { Settings } from '../config.ts';
import { type ErrorRecord, errorRecord, typedErrorIn } from '../errors.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import type { Admission } from '../tasks/api.ts';
import type { Clock } from '../tasks/ports.ts';
import type { SweepCursor } from '../tasks/sweep-cursor.ts';
import { hasEnded } from '../tasks/task.ts';
import { wantsLookAtFiles } from './cause-gone.ts';
import { demand, type SweepKind } from './demand.ts';
import { type Discovery, discoverCandidates } from './discover.ts';
import { isForeignRoot } from './errors.ts';
import type { TableFacts } from './facts.ts';
import { observe } from './observe.ts';
import { plan, runsUnderHold } from './plan.ts';

import { fromStored, type SweepLedger, toStored } from './sweep-ledger.ts';
import { canonicalTarget } from './targets.ts';
import { beforeAbort, withinTime } from './within-time.ts';

const tablesAtATime = 8;
const FACTS_PAGE = 100;

export interface SweepOptions {
  /** The object store rooted at a canonical URI: a root or a table. */
  readonly storageFor: (uri: string) => ObjectStore;
  readonly lifecycle: SweepLedger;
  /** Canonical. */
  readonly roots: readonly string[];
  readonly settings: Settings;
  readonly clock: Pick<Clock, 'now'>;
  /** What lies below a root, once it is sure that the root is ours. Default: only what lies there. */
  readonly belowRoot?: (root: string) => Promise<Discovery>;
  /** Where a sweep that ran out of time goes on. Default: from the beginning. */
  readonly cursor?: SweepCursor;
}

export interface SweepReport {
  /** Tables that were read. */
  readonly tables: readonly TableFacts[];
  readonly requested: readonly Admission[];
  /** Holds that no running task can have placed: a process died or lost its lease with one. */
  readonly holdsLeft: readonly { readonly target: string; readonly createdAt: number }[];
  /** Tables (and roots) that could not be read or asked for; their last known facts stay. */
  readonly failed: readonly { readonly target: string; readonly error: ErrorRecord }[];
  /** Tables, and roots whose tables were not even listed, that there was no time for. The next sweep of the kind begins with them. */
  readonly skipped: readonly string[];
}

export type Sweep = (kind: SweepKind, signal?: AbortSignal) => Promise<SweepReport>;

interface TableOutcome {
  readonly facts?: TableFacts;
  readonly requested: readonly Admission[];
  readonly holdLeft?: number;
  readonly failed?: { readonly target: string; readonly error: ErrorRecord };
}

/**
 * The scheduled pass: find the tables, look at each, keep the facts, ask for what they need. One table's error never stops the others
 * and never wipes what was known. When the signal aborts it
 * answers with what was done, and the next one goes on there. Throws ROOT_OWNED when a root turns out to be another ledger's.
 */
export function createSweep(options: SweepOptions): Sweep {
  return async (kind, signal) => {
    const { targets, failed, unlisted } = await findTargets(options, signal);
    const cursor = await options.cursor?.read(kind);
    const { results: outcomes, skipped } = await withinTime(
      startingAt(targets, cursor),
      tablesAtATime,
      signal,
      (target) => visit(options, target, kind),
    );
    const complete = unlisted.length === 0 && skipped.length === 0;
    if (skipped[0] !== cursor) await options.cursor?.write(kind, skipped[0]);
    // Reading all facts costs as much as the fleet is large, so only the hourly sweep does it.
    const hourly = kind === 'tails' || kind === 'all';
    if (hourly && complete && failed.length === 0) await forgetGone(options, new Set(targets));
    return {
      tables: outcomes.flatMap((outcome) => outcome.facts ?? []),
      requested: outcomes.flatMap((outcome) => outcome.requested),
      holdsLeft: outcomes.flatMap(({ facts, holdLeft }) =>
        facts === undefined || holdLeft === undefined ? [] : { target: facts.target, createdAt: holdLeft },
      ),
      failed: [...failed, ...outcomes.flatMap((outcome) => outcome.failed ?? [])],
      skipped: [...unlisted, ...skipped],
    };
  };
}

/** In the order of their names from where the last sweep of the kind had to stop: the table that was not seen for longest comes first. */
function startingAt(targets: readonly string[], cursor: string | undefined): readonly string[] {
  const at = cursor === undefined ? 0 : targets.findIndex((target) => target >= cursor);
  return at <= 0 ? targets : [...targets.slice(at), ...targets.slice(0, at)];
}

async function findTargets(options: SweepOptions, signal: AbortSignal | undefined) {
  const { storageFor, roots } = options;
  const belowRoot = options.belowRoot ?? ((root: string) => discoverCandidates(storageFor(root)));
  const targets = new Set<string>();
  const failed: { target: string; error: ErrorRecord }[] = [];
  const unlisted: string[] = [];
  for (const root of roots) {
    try {
      const discovery = await beforeAbort(signal, () => belowRoot(root));
      if (discovery === undefined) {
        unlisted.push(root);
        continue;
      }
      failed.push(...discovery.failed);
      for (const found of discovery.targets) {
        try {
          targets.add(await canonicalTarget(found, roots));
        } catch (error) {
          failed.push({ target: found, error: errorRecord(error) });
        }
      }
    } catch (error) {
      const record = errorRecord(error);
      if (isForeignRoot(record)) throw error;
      failed.push({ target: root, error: record });
    }
  }
  return { targets: [...targets].sort(), failed, unlisted };
}

async function visit(options: SweepOptions, target: string, kind: SweepKind): Promise<TableOutcome> {
  const { lifecycle, settings, clock } = options;
  const requested: Admission[] = [];
  let facts: TableFacts | undefined;
  try {
    facts = await look(options, target);
    if (facts === undefined) return { requested };
    const [health, openTasks] = await Promise.all([lifecycle.health(target), lifecycle.openTasks(target)]);
    if (wantsLookAtFiles(health, facts)) facts = (await look(options, target, 'anew')) ?? facts;
    const results = demand(facts, { settings, health, now: clock.now(), sweep: kind });
    const requests = plan(target, results, {
      settings,
      health,
      openTasks,
      facts,
      versionTimestamp: facts.versionTimestamp,
      now: clock.now(),
    });
    const ids = new Map(openTasks.flatMap((task) => (hasEnded(task.state) ? [] : [[task.kind, task.id] as const])));
    for (const { after = [], ...request } of requests) {
      const dependsOn = after.flatMap((before) => ids.get(before) ?? []);
      const admission = await lifecycle.admit(dependsOn.length > 0 ? { ...request, dependsOn } : request);
      ids.set(request.kind, admission.taskId);
      requested.push(admission);
    }
    const left = runsUnderHold(openTasks) ? null : facts.hold;
    return { facts, requested, ...(left === null ? {} : { holdLeft: left.createdAt }) };
  } catch (error) {
    const known = facts === undefined ? {} : { facts };
    return { ...known, requested, failed: { target, error: errorRecord(error) } };
  }
}

/** A table that was dropped would keep its last numbers in every list for ever. */
async function forgetGone({ lifecycle, roots }: SweepOptions, found: ReadonlySet<string>): Promise<void> {
  let after: string | undefined;
  do {
    const page = await lifecycle.listFacts({ limit: FACTS_PAGE, ...(after === undefined ? {} : { after }) });
    for (const { target, observedAt } of page.facts) {
      const ours = roots.some((root) => target.startsWith(`${root}/`));
      if (ours && !found.has(target)) await lifecycle.forgetFacts(target, observedAt);
    }
    after = page.next ?? undefined;
  } while (after !== undefined);
}

/** Undefined for a directory that never was a table, whatever its name. */
async function look(options: SweepOptions, target: string, how?: 'anew'): Promise<TableFacts | undefined> {
  const { lifecycle, settings, clock, storageFor } = options;
  const previous = fromStored(await lifecycle.getFacts(target));
  const now = clock.now();
  try {
    const seen = await observe(storageFor(target), target, settings, now, how === 'anew' ? undefined : previous);
    await lifecycle.putFacts(toStored(seen, settings));
    return seen;
  } catch (error) {
    if (previous === undefined && typedErrorIn(error)?.code === 'TABLE_NOT_FOUND') return undefined;
    if (previous !== undefined) await lifecycle.putFacts(toStored(stale(previous, error, now), settings));
    throw error;
  }
}

/** What was known, marked as old: an outage must not look like an empty fleet. */
function stale(previous: TableFacts, error: unknown, now: number): TableFacts {
  const numbersFrom = previous.numbersFrom ?? previous.observedAt;
  return { ...previous, observedAt: now, numbersFrom, error: errorRecord(error) };
}
