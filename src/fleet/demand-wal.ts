import { count, duration, size } from '../wording.ts';
import type { ShardFacts, TableFacts } from './facts.ts';
import type { DemandInput, RuleResult } from './rule-result.ts';

/** The rules that ask for a MergeWal. Generations behind a missing one count for none of them: merging would only fail. */
export function walResults(facts: TableFacts, input: DemandInput): readonly RuleResult[] {
  if (facts.wal === null) return [];
  const { shards } = facts.wal;
  const whole = shards.filter((shard) => shard.missingGeneration === null);
  const mergeable = sum(shards, (shard) => shard.pendingGenerations - shard.blockedGenerations);
  const blocked = sum(shards, (shard) => shard.blockedGenerations);
  const aside =
    blocked === 0 ? '' : `; ${count(blocked, 'more generation')} cannot be merged, since a directory is gone`;
  return [
    pending(mergeable, shards.length, aside, input),
    bytes(
      sum(whole, (shard) => shard.pendingBytes),
      aside,
      input,
    ),
    tail(mergeable, shards, aside, input),
    garbage(shards, input),
  ];
}

function pending(value: number, shards: number, aside: string, { settings }: DemandInput): RuleResult {
  const threshold = settings.mergeWalMinGenerations;
  return {
    rule: 'wal-pending',
    kind: 'MergeWal',
    threshold,
    value,
    unit: 'generations',
    due: value >= threshold,
    reason: `${count(value, 'generation')} pending in ${count(shards, 'shard')} (due from ${threshold})${aside}.`,
  };
}

function bytes(value: number, aside: string, { settings }: DemandInput): RuleResult {
  const threshold = settings.mergeMaxBytes;
  return {
    rule: 'wal-bytes',
    kind: 'MergeWal',
    threshold,
    value,
    unit: 'bytes',
    due: value >= threshold,
    reason: `${size(value)} pending in generations (due from ${size(threshold)})${aside}.`,
  };
}

/** A tail: fewer generations than a merge is worth. Due in the sweep of the tails, and in any sweep once it is old enough. */
function tail(value: number, shards: readonly ShardFacts[], aside: string, input: DemandInput): RuleResult {
  const interval = input.settings.mergeWalTailIntervalMs;
  const flushed = shards.flatMap((shard) =>
    shard.pendingGenerations > shard.blockedGenerations ? (shard.oldestPending ?? []) : [],
  );
  const age = flushed.length === 0 ? undefined : input.now - Math.min(...flushed);
  const ofTails = input.sweep === 'tails' || input.sweep === 'all';
  const old = age !== undefined && age >= interval;
  const since = age === undefined ? '' : `, the oldest for ${duration(age)}`;
  const when = ofTails ? 'this sweep takes every tail' : `due after ${duration(interval)}`;
  return {
    rule: 'wal-tail',
    kind: 'MergeWal',
    threshold: 1,
    value,
    unit: 'generations',
    due: value >= 1 && (ofTails || old),
    reason: value === 0 ? `No tail waits${aside}.` : `${count(value, 'generation')} pending${since} (${when})${aside}.`,
  };
}

function garbage(shards: readonly ShardFacts[], { settings }: DemandInput): RuleResult {
  const value = shards.filter((shard) => shard.garbageDue).length;
  const merged = sum(shards, (shard) => shard.mergedGenerations);
  return {
    rule: 'wal-garbage',
    kind: 'MergeWal',
    threshold: 1,
    value,
    unit: 'shards',
    due: value >= 1,
    reason: messageOfGarbage(merged, value, duration(settings.generationRetentionMs)),
  };
}

function messageOfGarbage(merged: number, dueShards: number, retention: string): string {
  if (merged === 0) return 'No merged generation waits to be removed.';
  const listed = `${count(merged, 'merged generation')} still listed`;
  if (dueShards === 0) return `${listed}, within the retention of ${retention} or until all indexes have caught up.`;
  return `${listed}, in ${count(dueShards, 'shard')} past the retention of ${retention}.`;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
