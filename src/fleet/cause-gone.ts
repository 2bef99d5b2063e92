import type { Health } from '../tasks/task.ts';
import type { TableFacts } from './facts.ts';

/** Failures whose cause an observation can see: true when it is there no longer. */
const GONE: Readonly<Record<string, (facts: TableFacts, failedAt: number) => boolean>> = {
  KEY_INDEX_MISSING: ({ keyIndex }) => keyIndex?.exact === true && !keyIndex.filesMissing,
  INDEX_FILES_MISSING: ({ keyIndex, error, filesCheckedAt = 0 }, at) =>
    filesCheckedAt > at && !keyIndex?.filesMissing && error?.code !== 'INDEX_FILES_MISSING',
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
export function isCauseGone(health: Health | undefined, facts: TableFacts | undefined): boolean {
  const failure = health?.streak ? health.lastFailure : undefined;
  if (failure === undefined || facts === undefined || facts.numbersFrom !== undefined) return false;
  return facts.observedAt > failure.at && GONE[failure.error.code]?.(facts, failure.at) === true;
}

/** True when a task missed files of an index and nobody has looked for them since. */
export function wantsLookAtFiles(
  health: Readonly<Partial<Record<string, Health>>>,
  { filesCheckedAt = 0 }: TableFacts,
): boolean {
  return Object.values(health).some((one) => {
    const failure = one?.streak ? one.lastFailure : undefined;
    return failure?.error.code === 'INDEX_FILES_MISSING' && failure.at >= filesCheckedAt;
  });
}
