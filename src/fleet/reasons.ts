import type { Health, Task, TaskKind, TaskRequest } from '../tasks/task.ts';
import { hasEnded } from '../tasks/task.ts';
import { count, duration } from '../wording.ts';
import type { RuleResult } from './demand.ts';
import { brokenIndexes, manySegments } from './demand-indexes.ts';
import type { TableFacts } from './facts.ts';
import { holdLeft } from './hold-left.ts';
import { runsUnderHold } from './plan.ts';

export interface Lease {
  readonly taskId: string;
  readonly kind: TaskKind;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface ReasonInput {
  /** Undefined when the table was never read. */
  readonly facts: TableFacts | undefined;
  readonly results: readonly RuleResult[];
  /** What the next sweep would ask for. */
  readonly plan: readonly TaskRequest[];
  readonly openTasks: readonly Task[];
  readonly health: Readonly<Partial<Record<TaskKind, Health>>>;
  readonly lease: Lease | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Answers "why is it not running?", one sentence each: what is wrong with the table, what stops each open task, what is due and not
 * asked for yet. Never empty: a table that needs nothing says so.
 */
export function reasons(input: ReasonInput): readonly string[] {
  const open = input.openTasks.filter((task) => !hasEnded(task.state));
  const messages = [
    ...tableMessages(input),
    ...indexMessages(input),
    ...open.map((task) => taskMessage(task, input)),
    ...dueMessages(open, input),
    ...failureMessages(open, input),
  ];
  return messages.length > 0 ? messages : ['Nothing is due and no task is open.'];
}

type Attention = Pick<ReasonInput, 'facts' | 'health' | 'now' | 'openTasks'>;

/** True when a person should look: the table cannot be read, is damaged, holds what no pass can do, or fails again and again. */
export function needsAttention({ facts, health, now, openTasks }: Attention): boolean {
  if (facts === undefined || facts.error !== undefined || facts.tooLargeFragments > 0) return true;
  if (facts.hold !== null && !runsUnderHold(openTasks)) return true;
  if (brokenIndexes(facts, { health, now }).length > 0 || manySegments(facts).length > 0) return true;
  return Object.values(health).some(
    (one) =>
      (one.cooldownUntil !== undefined && one.cooldownUntil > now) ||
      (one.streak > 0 && one.lastFailure?.error.disposition === 'permanent'),
  );
}

/** Indexes that the last pass had to leave as they are, each with its repair, and a hold that nobody takes away. */
function indexMessages({ facts, health, openTasks, now }: ReasonInput): string[] {
  if (facts === undefined) return [];
  const broken = brokenIndexes(facts, { health, now });
  const problems = health.OptimizeIndices?.lastSuccess?.problems ?? [];
  const messages = problems
    .filter(({ subject }) => broken.includes(subject))
    .map(({ code, message, next }) => `${code}: ${message}${next === undefined ? '' : ` ${next}`}`);
  for (const { name, segments } of manySegments(facts)) {
    messages.push(
      `INDEX_SEGMENTS: The index ${name} has ${segments} segments: a search reads all of them, and compaction never combines what different ones cover. Build it anew with its own parameters (createIndex with replace: true).`,
    );
  }
  if (facts.hold === null || runsUnderHold(openTasks)) return messages;
  const { code, message } = holdLeft(facts.hold.createdAt);
  return [...messages, `${code}: ${message}`];
}

function tableMessages({ facts }: ReasonInput): string[] {
  if (facts === undefined) return ['The table has not been read yet; the next sweep does.'];
  return [...errorMessages(facts), ...budgetMessages(facts)];
}

/** What no pass can do within the settings. */
function budgetMessages({ tooLargeFragments }: TableFacts): string[] {
  if (tooLargeFragments === 0) return [];
  const verb = tooLargeFragments === 1 ? 'needs' : 'need';
  return [
    `${count(tooLargeFragments, 'fragment')} ${verb} a rewrite beyond COMPACT_MAX_BYTES, so no compaction takes them. Raise COMPACT_MAX_BYTES.`,
  ];
}

function errorMessages(facts: TableFacts): string[] {
  if (facts.error === undefined) return [];
  const { code, message, next } = facts.error;
  const age =
    facts.numbersFrom === undefined
      ? ''
      : ` The numbers shown are those of ${new Date(facts.numbersFrom).toISOString()}.`;
  return [`${code}: ${message}${next === undefined ? '' : ` ${next}`}${age}`];
}

function taskMessage(task: Task, { health, lease, now }: ReasonInput): string {
  const name = `${task.kind} ${task.id}`;
  if (task.state === 'running') {
    const since = task.attemptStartedAt ?? task.startedAt;
    const time = since === undefined ? '' : ` for ${duration(now - since)}`;
    return `${name} is running${time} (attempt ${task.attempts}).`;
  }
  if (task.state === 'waiting')
    return `${name} waits for ${count(task.pendingDependencies.length, 'task')}: ${task.pendingDependencies.join(', ')}.`;
  const cooldown = health[task.kind]?.cooldownUntil;
  if (cooldown !== undefined && cooldown > now && !task.force) {
    return `${name} is queued, but ${cooling(task.kind, health[task.kind], cooldown, now)}`;
  }
  if (task.notBefore !== undefined && task.notBefore > now) {
    const error = task.error === undefined ? '' : ` after ${task.error.code}: ${task.error.message}`;
    return `${name} is tried again in ${duration(task.notBefore - now)}${error}`;
  }
  if (lease !== undefined && lease.taskId !== task.id) {
    const gone = lease.expiresAt < now ? ' Its lease has run out; the next recovery frees the table.' : '';
    return `${name} is queued: the table is busy with ${lease.kind} ${lease.taskId}.${gone}`;
  }
  return `${name} is queued and starts as soon as its queue has room.`;
}

function dueMessages(open: readonly Task[], { results, plan, health, now }: ReasonInput): string[] {
  const kinds = [...new Set(results.filter((result) => result.due).map((result) => result.kind))];
  return kinds.flatMap((kind) => {
    if (open.some((task) => task.kind === kind)) return [];
    const why = results.find((result) => result.kind === kind && result.due)?.reason ?? '';
    if (!plan.some((request) => request.kind === kind)) {
      const failure = health[kind]?.streak ? lastFailure(health[kind]) : '';
      const comes =
        failure === '' ? 'and comes with another task' : 'but is not asked for again before the table changes';
      return [`${kind} is due, ${comes}: ${why}${failure}`];
    }
    const until = health[kind]?.cooldownUntil;
    const but = until !== undefined && until > now ? ` But ${cooling(kind, health[kind], until, now)}` : '';
    return [`${kind} is due and not asked for yet: ${why}${but}${lastFailure(health[kind])}`];
  });
}

/** What failed here and is neither open nor due: the reason for attention would stand nowhere else. */
function failureMessages(open: readonly Task[], { results, health, now }: ReasonInput): string[] {
  const mentioned = new Set([
    ...open.map(({ kind }) => kind),
    ...results.flatMap(({ due, kind }) => (due ? [kind] : [])),
  ]);
  return Object.values(health).flatMap((one) => {
    if (mentioned.has(one.kind) || one.streak === 0) return [];
    if (one.lastFailure?.error.disposition === 'permanent') {
      const { code, message, next } = one.lastFailure.error;
      return [`${one.kind} has failed for good with ${code}: ${message}${next === undefined ? '' : ` ${next}`}`];
    }
    const until = one.cooldownUntil ?? 0;
    return until > now ? [cooling(one.kind, one, until, now)] : [];
  });
}

function lastFailure(health: Health | undefined): string {
  if (!health?.streak || health.lastFailure === undefined) return '';
  const { code, message, next } = health.lastFailure.error;
  return ` The last attempt failed with ${code}: ${message}${next === undefined ? '' : ` ${next}`}`;
}

function cooling(kind: TaskKind, health: Health | undefined, until: number, now: number): string {
  const { code, next } = health?.lastFailure?.error ?? {};
  const last = code === undefined ? '' : `, the last time with ${code}`;
  const repair = next === undefined ? '' : ` ${next}`;
  const failures = count(health?.streak ?? 0, 'time');
  return `${kind} failed ${failures} in a row here${last}: it cools down for another ${duration(until - now)} (\`lance-upkeep send --force\` passes that).${repair}`;
}
