import { typedErrorIn, type UpkeepError } from '../errors.ts';
import { WorkError } from './errors.ts';

/** LanceDB reports everything as text, so this is the one place that reads message text. Patterns were seen on 0.39.0. */
const CONFLICT =
  /commit conflict|preempted by concurrent transaction|Too many concurrent writers|Incompatible transaction|RetryableCommitConflict|TooMuchWriteContention/i;
/** The codes are those that our own S3 client gives for the same answers: src/storage/s3-errors.ts. */
const THROTTLED = /SlowDown|503 Service Unavailable|status code: 409|\b429\b|Too Many Requests|throttl|RequestTimeout/i;
const DENIED =
  /status code: 40[13]|lacked the necessary privileges|lacked valid authentication|AccessDenied|ExpiredToken/i;
const UNREACHABLE = /status code: 5\d\d|error sending request|connection (?:refused|reset|closed)|dns error/i;
/** A path follows: what is not found may also be a column, a tag or a function. */
const GONE = /(?:Not found|NotFound|No such file)[^\n]*[\w-]\.(?:lance|arrow|bin|idx|txn|manifest)\b/i;
const EXHAUSTED = /Resources exhausted/i;
const NULL_STRUCT = /struct field `?([^`]*)`? contains .* null value/i;

/** Runs calls of LanceDB, so that a throttle or a conflict keeps its disposition whichever call met it. */
export async function callLancedb<T>(during: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw lancedbError(error, during);
  }
}

/** Brings a handle to the newest version. */
export function refresh(table: { checkoutLatest(): Promise<void> }): Promise<void> {
  return callLancedb('opening the newest version', () => table.checkoutLatest());
}

/**
 * Turns what a LanceDB call threw into one of our errors.
 * @param during what was being done, for the sentence: "merging 8 generations into …".
 */
export function lancedbError(error: unknown, during: string): UpkeepError {
  const typed = typedErrorIn(error);
  if (typed) return typed;
  const text = error instanceof Error ? error.message : String(error);
  const short = text.split('\n')[0]?.slice(0, 400) ?? '';
  if (CONFLICT.test(text)) {
    return new WorkError('COMMIT_CONFLICT', `Another writer committed first while ${during}: ${short}`, {
      disposition: 'contention',
      next: 'Nothing to do: the task is tried again in a moment.',
      cause: error,
    });
  }
  if (THROTTLED.test(text)) {
    return new WorkError('STORE_THROTTLED', `The object store asked to slow down while ${during}: ${short}`, {
      disposition: 'contention',
      next: 'Nothing to do: the task is tried again in a moment.',
      cause: error,
    });
  }
  const struct = NULL_STRUCT.exec(text)?.[1];
  if (struct !== undefined) return structNull(struct, `The batch (${during})`, error);
  if (EXHAUSTED.test(text)) {
    return new WorkError('MEMORY_EXHAUSTED', `LanceDB’s memory pool was too small while ${during}: ${short}`, {
      disposition: 'failure',
      next: 'Raise LANCE_MEM_POOL_SIZE (bytes), which LanceDB reads at the start of the process; or use fewer merges at a time (MERGE_WAL_CONCURRENCY).',
      cause: error,
    });
  }
  if (DENIED.test(text)) {
    return new WorkError('STORE_ACCESS_DENIED', `The object store refused access while ${during}: ${short}`, {
      disposition: 'failure',
      next: 'Check the credentials and that they may list, read, write and delete below this root.',
      cause: error,
    });
  }
  if (UNREACHABLE.test(text)) {
    return new WorkError('STORE_UNREACHABLE', `The object store did not answer while ${during}: ${short}`, {
      disposition: 'failure',
      next: 'Check the network, the endpoint and the region; it is tried again.',
      cause: error,
    });
  }
  const missing = GONE.test(text);
  const hint = missing
    ? 'A file was missing for a moment: look whether another job cleans up this table.'
    : 'The message is LanceDB’s own; run `lance-upkeep history <target>` to see whether it repeats.';
  return new WorkError('LANCEDB_FAILED', `LanceDB failed while ${during}: ${short}`, {
    disposition: 'failure',
    next: hint,
    cause: error,
    ...(missing ? { details: { missingFile: true } } : {}),
  });
}

/** True for what the native library threw, whatever it says. */
export function isNative(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'GenericFailure';
}

/** True for an error that LanceDB gave because it did not find a file. */
export function namesMissingFile(error: UpkeepError): boolean {
  return error.code === 'LANCEDB_FAILED' && error.details?.missingFile === true;
}

export function structNull(column: string, where: string, cause?: unknown): WorkError {
  return new WorkError(
    'STRUCT_NULL_UNSUPPORTED',
    `${where} has a null in the struct column "${column}", and the data format 2.0 of this table cannot hold one.`,
    {
      disposition: 'permanent',
      next: 'Copy the table into one of format 2.1 or later, which is what LanceDB makes by default, or write a struct of nulls.',
      cause,
    },
  );
}
