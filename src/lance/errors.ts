import { UpkeepError } from '../errors.ts';

/** The two kinds of file this folder decodes; each names its own damage. */
export type UnreadableCode = 'MANIFEST_UNREADABLE' | 'SHARD_MANIFEST_UNREADABLE';

/** A damaged file: which one, at which byte, and what should have been there. */
export function unreadable(code: UnreadableCode, file: string, offset: number, expected: string): UpkeepError {
  return new UpkeepError(`${file} cannot be read: at byte ${offset}, expected ${expected}.`, {
    code,
    disposition: 'permanent',
    next: 'The file is damaged, or is not what its name says: compare it with a backup before anything writes to this table.',
    details: { file, offset, expected },
  });
}

/** A file that is sound but uses something this version must not touch. `expected` says what would be accepted. */
export function unsupported(
  file: string,
  found: string,
  expected: string,
  details: Readonly<Record<string, unknown>> = {},
): UpkeepError {
  return new UpkeepError(`${file} ${found}; supported: ${expected}.`, {
    code: 'MANIFEST_UNSUPPORTED',
    disposition: 'permanent',
    next: 'Nothing was written. Leave this table to a version of lance-upkeep that knows the feature, or take it out of the roots.',
    details: { file, offset: null, expected, ...details },
  });
}

export function tableNotFound(uri: string): UpkeepError {
  return new UpkeepError(`There is no Lance table at ${uri}: no manifest under _versions/.`, {
    code: 'TABLE_NOT_FOUND',
    disposition: 'permanent',
    next: 'Check the target, or drop the request if the table was deleted.',
    details: { uri, file: '_versions/', offset: null, expected: 'at least one manifest' },
  });
}

/** `type`: of a column of that name that cannot be the key. */
export function keyColumnMissing(file: string, column: string, type?: string): UpkeepError {
  const instead =
    type === undefined
      ? `and has no column "${column}"`
      : `and its column "${column}" is ${type}, which cannot be a key: a key is text or an integer`;
  return new UpkeepError(`The table declares no primary key, ${instead} (${file}).`, {
    code: 'KEY_COLUMN_MISSING',
    disposition: 'permanent',
    next: 'A table without a key is compacted like any other. To have it indexed or merged, declare a text or integer column with table.setUnenforcedPrimaryKey(column).',
    details: { file, offset: null, expected: `a declared primary key or a column "${column}"`, column },
  });
}

/** The shard manifest lists a generation whose directory holds nothing. */
export function generationMissing(shardId: string, generation: number, prefix: string): UpkeepError {
  return new UpkeepError(`Generation ${generation} of shard ${shardId} is listed, but ${prefix} is empty or gone.`, {
    code: 'GENERATION_MISSING',
    disposition: 'permanent',
    next: 'Rows of that generation may be lost: restore the directory from a backup, then send the merge again.',
    details: { file: prefix, offset: null, expected: 'a Lance dataset', shardId, generation },
  });
}

/** The base table moved in a way that the watermark cannot follow now. Merging again is safe: merges are idempotent. */
export function watermarkConflict(file: string, why: string, details: Readonly<Record<string, unknown>>): UpkeepError {
  return new UpkeepError(`The watermark was not committed: ${why}.`, {
    code: 'WATERMARK_CONFLICT',
    disposition: 'contention',
    next: 'Merge the same generations again from the newest version; no row is lost or doubled by that.',
    details: { file, offset: null, expected: 'a head that descends from the merge commit', ...details },
  });
}

/** Live writers kept taking the next shard-manifest version before us. */
export function shardConflict(shardId: string, attempts: number): UpkeepError {
  return new UpkeepError(`The manifest of shard ${shardId} changed under each of ${attempts} attempts to drain it.`, {
    code: 'SHARD_CONFLICT',
    disposition: 'contention',
    next: 'Nothing is wrong; the merged generations stay listed until the next pass.',
    details: {
      file: `_mem_wal/${shardId}/manifest/`,
      offset: null,
      expected: 'a free next version',
      shardId,
      attempts,
    },
  });
}

/** The table moved under a hold that was being placed or taken away. Nothing is lost: what is to be held is planned anew. */
export function holdConflict(file: string, why: string): UpkeepError {
  return new UpkeepError(`The hold on the fragments was not committed: ${why}.`, {
    code: 'HOLD_CONFLICT',
    disposition: 'contention',
    next: 'Nothing to do: the task is planned again from the newest version.',
    details: { file, offset: null, expected: 'a free next version with the same fragments' },
  });
}
