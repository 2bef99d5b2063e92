import { type Disposition, UpkeepError } from '../errors.ts';

export type WorkErrorCode =
  | 'COLUMN_NAME_UNSUPPORTED'
  | 'COMMIT_CONFLICT'
  | 'DEADLINE'
  | 'DUPLICATE_KEYS'
  | 'INDEX_COVERAGE_LOST'
  | 'INDEX_NOT_BUILT'
  | 'INDEX_UNREADABLE'
  | 'KEY_INDEX_MISSING'
  | 'KEY_IN_TWO_SHARDS'
  | 'KEY_TYPE_UNSUPPORTED'
  | 'LANCEDB_FAILED'
  | 'MEMORY_EXHAUSTED'
  | 'MERGE_COUNT_MISMATCH'
  | 'NULL_KEYS'
  | 'SCHEMA_COLUMN_UNKNOWN'
  | 'SCHEMA_MISMATCH'
  | 'STORE_ACCESS_DENIED'
  | 'STORE_THROTTLED'
  | 'STORE_UNREACHABLE'
  | 'STRUCT_NULL_UNSUPPORTED'
  | 'TOMBSTONE_COLUMN_TAKEN'
  | 'TYPE_UNSUPPORTED'
  | 'WATERMARK_MOVED';

interface WorkErrorOptions {
  readonly disposition: Disposition;
  readonly next?: string;
  readonly cause?: unknown;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An error of the work itself: what is wrong with the table, the generation or the moment. */
export class WorkError extends UpkeepError {
  override readonly name = 'WorkError';

  constructor(code: WorkErrorCode, message: string, options: WorkErrorOptions) {
    super(message, { code, ...options });
  }
}
