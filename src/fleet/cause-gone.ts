import type { Health } from '../tasks/task.ts';
import type { StoreFacts } from './facts.ts';

/** Failures whose cause an observation can see: true when it is there no longer. */
const GONE: Readonly<Record<string, (facts: StoreFacts) => boolean>> = {
  KEY_INDEX_MISSING: ({ keyIndex }) => keyIndex?.exact === true,
  KEY_COLUMN_MISSING: ({ keyColumn }) => keyColumn !== null,
  GENERATION_MISSING: ({ wal }) => wal === null || wal.shards.every((shard) => shard.missingGeneration === null),
  // Facts with numbers of their own were read from the very files that could not be read then.
  MANIFEST_UNREADABLE: () => true,
  SHARD_MANIFEST_UNREADABLE: ({ error }) => error?.code !== 'SHARD_MANIFEST_UNREADABLE',
};

/**
 * True when what a kind failed for last is mended by what was observed since. Then nothing speaks for waiting: neither a cooldown nor
 * that the table has no newer version.
 */
export function isCauseGone(health: Health | undefined, facts: StoreFacts | undefined): boolean {
  const failure = health?.streak ? health.lastFailure : undefined;
  if (failure === undefined || facts === undefined || facts.numbersFrom !== undefined) return false;
  return facts.observedAt > failure.at && GONE[failure.error.code]?.(facts) === true;
}
