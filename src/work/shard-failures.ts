import type { UpkeepError } from '../errors.ts';
import { WorkError } from './errors.ts';
import type { FailedShard } from './pending.ts';

/** The error of a pass in which no shard succeeded. A single shard's error stands for itself. */
export function noShardLeft(failed: readonly FailedShard[]): UpkeepError {
  const [first] = failed;
  if (first && failed.length === 1) return first.error;
  const list = failed.map(({ shardId, error }) => `${shardId} ${error.code}`).join(', ');
  return new WorkError('SHARDS_FAILED', `None of ${failed.length} shards could be merged: ${list}.`, {
    disposition: failed.every(({ error }) => error.disposition === 'permanent') ? 'permanent' : 'failure',
    next: first?.error.next ?? 'Inspect the table: each shard says what is wrong with it.',
    cause: first?.error,
  });
}
