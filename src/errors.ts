/**
 * What the lifecycle does with an error.
 * - `contention`: somebody else was faster or the service is throttled; soon again, no streak.
 * - `failure`: this attempt failed; again later, counted.
 * - `permanent`: repeating cannot help until a person changes something; the task ends.
 */
export type Disposition = 'contention' | 'failure' | 'permanent';

export interface UpkeepErrorOptions {
  /** Stable, UPPER_SNAKE; the same in logs, ledger and on the command line. */
  readonly code: string;
  readonly disposition: Disposition;
  /** What the reader should do next, one sentence. */
  readonly next?: string;
  readonly cause?: unknown;
  /** Numbers and names behind the sentence, for `--json` and logs. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The one error type of this product: what and why in `message`, what next in `next`, the class in `disposition`. */
export class UpkeepError extends Error {
  override readonly name: string = 'UpkeepError';
  readonly code: string;
  readonly disposition: Disposition;
  readonly next: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(message: string, options: UpkeepErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.disposition = options.disposition;
    this.next = options.next;
    this.details = options.details;
  }

  get retryable(): boolean {
    return this.disposition !== 'permanent';
  }
}

/** The record of an error in the ledger and in JSON output. */
export interface ErrorRecord {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
  readonly disposition: Disposition;
}

/** Finds the typed error through any number of wrappings (cause chains); undefined when there is none. */
export function typedErrorIn(error: unknown): UpkeepError | undefined {
  const seen = new Set<unknown>();
  let current: unknown = error;
  while (current instanceof Error && !seen.has(current)) {
    if (current instanceof UpkeepError) return current;
    seen.add(current);
    current = current.cause;
  }
  return undefined;
}

/** Turns any thrown value into the record kept in the ledger. An untyped error is a `failure` with code `UNEXPECTED`. */
export function errorRecord(error: unknown): ErrorRecord {
  const typed = typedErrorIn(error);
  if (typed) {
    const base = { code: typed.code, message: typed.message, disposition: typed.disposition };
    return typed.next === undefined ? base : { ...base, next: typed.next };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: 'UNEXPECTED', message, disposition: 'failure' };
}
