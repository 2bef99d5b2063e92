import type { Settings } from '../config.ts';
import type { Health, Task, TaskKind, TaskRequest } from '../tasks/task.ts';
import { hasEnded } from '../tasks/task.ts';
import { isCauseGone } from './cause-gone.ts';
import type { RuleResult } from './demand.ts';
import { keyIndexResults } from './demand-key-index.ts';
import type { TableFacts } from './facts.ts';

export type PlanSettings = Pick<Settings, 'indexAfterCompaction' | 'indexBeforeMerge'>;

export interface PlanInput {
  readonly settings: PlanSettings;
  readonly health: Readonly<Partial<Record<TaskKind, Health>>>;
  readonly openTasks: readonly Task[];
  /** Time of the base table's newest version and the time now, epoch milliseconds: what a permanent failure is held against. */
  readonly versionTimestamp?: number;
  readonly now?: number;
  /** What the results were made of. */
  readonly facts?: TableFacts;
}

export interface PlannedRequest extends TaskRequest {
  /** Kinds whose task on the same target has to be done before, whether this plan asks for it or it is open already. */
  readonly after?: readonly TaskKind[];
}

/** A mended cause need not show in the table's version, so a permanent failure is tried again after this long all the same. */
const PERMANENT_AGAIN_MS = 6 * 3_600_000;

/**
 * What to ask for: one request per kind that is due, with the first due rule as its reason.
 * A kind with an open task is left out: that task reads the newest version when it runs, and asking again would only add one
 * more behind it. So is what another task brings, unless that kind fails on this table: a compaction extends every index and is
 * followed by an IndexId, a merge builds a missing or wrong key index first (but extends none), and an OptimizeIndices extends the
 * key's index with the others. A hold is left behind only if no task runs that may have placed it.
 * A merge that must not build the index itself waits for the IndexId, in whichever sweep it is asked for.
 * What failed for a cause that is gone is asked for with force, an open task that waits for its next try included.
 */
export function plan(target: string, results: readonly RuleResult[], input: PlanInput): readonly PlannedRequest[] {
  const open = new Set(input.openTasks.filter((task) => !hasEnded(task.state)).map((task) => task.kind));
  const running = runsUnderHold(input.openTasks);
  const due = results.filter(({ due: isDue, rule }) => isDue && !(rule === 'hold-left' && running));
  const firstOf = (kind: TaskKind) => due.find((result) => result.kind === kind);
  const comes = (kind: TaskKind) =>
    (open.has(kind) || firstOf(kind) !== undefined) && (input.health[kind]?.streak ?? 0) === 0;
  const compaction = comes('Compact');
  const afterCompaction = input.settings.indexAfterCompaction && compaction;
  const beforeMerge = input.settings.indexBeforeMerge && comes('MergeWal');
  const indices = compaction ? undefined : firstOf('OptimizeIndices');
  const merge = firstOf('MergeWal');
  const needed = merge === undefined ? undefined : indexNeededBefore(input);
  const index =
    needed ??
    due.find(({ kind, rule }) => {
      if (kind !== 'IndexId' || afterCompaction) return false;
      if (rule === 'key-index-uncovered') return !(indices && comes('OptimizeIndices'));
      return !beforeMerge;
    });
  const fails = needed !== undefined && isHopeless('IndexId', input);
  return [firstOf('Compact'), index, fails ? undefined : merge, indices, firstOf('Prune')].flatMap((result) => {
    if (result === undefined || isHopeless(result.kind, input)) return [];
    const mended = isCauseGone(input.health[result.kind], input.facts);
    if (open.has(result.kind) && !(mended && isWaiting(result.kind, input))) return [];
    const request = requestFor(target, result);
    const after = result === merge && needed !== undefined ? { after: ['IndexId'] as const } : {};
    return [{ ...request, ...after, ...(mended ? { force: true } : {}) }];
  });
}

/** The rule by which a merge would fail: it meets an index without files, or builds none itself, also into an empty base table. */
function indexNeededBefore({ settings, facts }: PlanInput): RuleResult | undefined {
  if (facts?.keyIndex?.filesMissing) return keyIndexResults(facts).find(({ due }) => due);
  if (settings.indexBeforeMerge || !facts?.keyColumn || facts.keyIndex?.exact) return undefined;
  if (facts.keyTypeWithoutIndex !== undefined) return undefined;
  const rule = facts.keyIndex === null ? 'key-index-missing' : 'key-index-wrong-kind';
  return keyIndexResults(facts).find((result) => result.rule === rule);
}

/** Open, tried already, and nothing but its own waiting time or the cooldown of its kind holds it back. */
function isWaiting(kind: TaskKind, { openTasks }: PlanInput): boolean {
  return openTasks.some((task) => task.kind === kind && task.state === 'queued' && !task.force);
}

/** True while a task runs that may have placed a hold, and takes it away itself. */
export function runsUnderHold(openTasks: readonly Task[]): boolean {
  return openTasks.some(
    ({ kind, state }) =>
      state === 'running' && (kind === 'Compact' || kind === 'IndexId' || kind === 'OptimizeIndices'),
  );
}

/** Failed for good since the table last changed: asking again can only fail again. */
function isHopeless(kind: TaskKind, { health, versionTimestamp, now, facts }: PlanInput): boolean {
  if (isCauseGone(health[kind], facts)) return false;
  const failure = health[kind]?.streak ? health[kind]?.lastFailure : undefined;
  if (failure?.error.disposition !== 'permanent' || versionTimestamp === undefined || now === undefined) return false;
  return versionTimestamp <= failure.at && now - failure.at < PERMANENT_AGAIN_MS;
}

function requestFor(target: string, result: RuleResult): TaskRequest {
  return { kind: result.kind, target, reason: `${result.rule}: ${result.reason}` };
}
