import type { Settings } from '../config.ts';
import type { Health, Task, TaskKind, TaskRequest } from '../tasks/task.ts';
import { hasEnded } from '../tasks/task.ts';
import type { Verdict } from './demand.ts';

export type PlanSettings = Pick<Settings, 'indexAfterCompaction' | 'indexBeforeMerge'>;

export interface PlanInput {
  readonly settings: PlanSettings;
  readonly health: Readonly<Partial<Record<TaskKind, Health>>>;
  readonly openTasks: readonly Task[];
  /** Time of the base table's newest version and the time now, epoch milliseconds: what a permanent failure is held against. */
  readonly versionTimestamp?: number;
  readonly now?: number;
}

/** A mended cause need not show in the table's version, so a permanent failure is tried again after this long all the same. */
const PERMANENT_AGAIN_MS = 6 * 3_600_000;

/**
 * What to ask for: one request per kind that is due, with the first due rule as its reason.
 * A kind with an open task is left out: that task reads the newest version when it runs, and asking again would only add one
 * more behind it. So is what another task brings, unless that kind fails on this store: a compaction extends every index and is
 * followed by an IndexId, a merge builds a missing or wrong key index first (but extends none), and an OptimizeIndices extends the
 * key's index with the others. A hold is left behind only if no task runs that may have placed it.
 */
export function plan(target: string, verdicts: readonly Verdict[], input: PlanInput): readonly TaskRequest[] {
  const open = new Set(input.openTasks.filter((task) => !hasEnded(task.state)).map((task) => task.kind));
  const running = runsUnderHold(input.openTasks);
  const due = verdicts.filter(({ due: isDue, rule }) => isDue && !(rule === 'hold-left' && running));
  const firstOf = (kind: TaskKind) => due.find((verdict) => verdict.kind === kind);
  const comes = (kind: TaskKind) =>
    (open.has(kind) || firstOf(kind) !== undefined) && (input.health[kind]?.streak ?? 0) === 0;
  const compaction = comes('Compact');
  const afterCompaction = input.settings.indexAfterCompaction && compaction;
  const beforeMerge = input.settings.indexBeforeMerge && comes('MergeWal');
  const indices = compaction ? undefined : firstOf('OptimizeIndices');
  const index = due.find(({ kind, rule }) => {
    if (kind !== 'IndexId' || afterCompaction) return false;
    if (rule === 'key-index-uncovered') return !(indices && comes('OptimizeIndices'));
    return !beforeMerge;
  });
  return [firstOf('Compact'), index, firstOf('MergeWal'), indices].flatMap((verdict) =>
    verdict === undefined || open.has(verdict.kind) || isHopeless(verdict.kind, input)
      ? []
      : requestFor(target, verdict),
  );
}

/** True while a task runs that may have placed a hold, and takes it away itself. */
export function runsUnderHold(openTasks: readonly Task[]): boolean {
  return openTasks.some(
    ({ kind, state }) =>
      state === 'running' && (kind === 'Compact' || kind === 'IndexId' || kind === 'OptimizeIndices'),
  );
}

/** Failed for good since the table last changed: asking again can only fail again. */
function isHopeless(kind: TaskKind, { health, versionTimestamp, now }: PlanInput): boolean {
  const failure = health[kind]?.streak ? health[kind]?.lastFailure : undefined;
  if (failure?.error.disposition !== 'permanent' || versionTimestamp === undefined || now === undefined) return false;
  return versionTimestamp <= failure.at && now - failure.at < PERMANENT_AGAIN_MS;
}

function requestFor(target: string, verdict: Verdict): TaskRequest {
  return { kind: verdict.kind, target, reason: `${verdict.rule}: ${verdict.because}` };
}
