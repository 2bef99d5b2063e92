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
 * more behind it. An IndexId is left out where another task brings the index, unless that kind fails on this store: a compaction is
 * followed by one, and a merge builds a missing or wrong index first. A merge does not extend a BTree, so that one is asked for.
 */
export function plan(target: string, verdicts: readonly Verdict[], input: PlanInput): readonly TaskRequest[] {
  const open = new Set(input.openTasks.filter((task) => !hasEnded(task.state)).map((task) => task.kind));
  const due = verdicts.filter((verdict) => verdict.due);
  const firstOf = (kind: TaskKind) => due.find((verdict) => verdict.kind === kind);
  const comes = (kind: TaskKind) =>
    (open.has(kind) || firstOf(kind) !== undefined) && (input.health[kind]?.streak ?? 0) === 0;
  const afterCompaction = input.settings.indexAfterCompaction && comes('Compact');
  const beforeMerge = input.settings.indexBeforeMerge && comes('MergeWal');
  const index = due.find(
    ({ kind, rule }) => kind === 'IndexId' && !afterCompaction && (!beforeMerge || rule === 'key-index-uncovered'),
  );
  return [firstOf('Compact'), index, firstOf('MergeWal')].flatMap((verdict) =>
    verdict === undefined || open.has(verdict.kind) || isHopeless(verdict.kind, input)
      ? []
      : requestFor(target, verdict),
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
