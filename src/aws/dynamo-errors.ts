import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { UpkeepError } from '../errors.ts';
import { ledgerRequestInvalid } from '../tasks/ledger-requests.ts';

/** Another transaction touched the same items at the same moment. Nothing was written, and a retry is right. */
const CONFLICTS = new Set([
  'TransactionConflict',
  'TransactionConflictException',
  'TransactionInProgressException',
  'DuplicateItem',
]);
const THROTTLES = new Set([
  'ThrottlingError',
  'ThrottlingException',
  'ProvisionedThroughputExceeded',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'LimitExceededException',
]);
const INVALID = new Set([
  'ValidationError',
  'ValidationException',
  'IdempotentParameterMismatchException',
  'ItemCollectionSizeLimitExceeded',
]);
const REFUSED = new Set([
  'AccessDeniedException',
  'CredentialsProviderError',
  'ExpiredTokenException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'ResourceNotFoundException',
  'UnrecognizedClientException',
]);

export type DynamoFailure = 'conflict' | 'throttled' | 'invalid' | 'refused' | 'unknown';

/** Classifies the SDK's errors. For a cancelled transaction the reasons of its writes decide. */
export function failureOf(error: unknown): DynamoFailure {
  const names =
    error instanceof TransactionCanceledException
      ? (error.CancellationReasons ?? []).map(({ Code }) => Code ?? 'None')
      : [error instanceof Error ? error.name : ''];
  const any = (set: ReadonlySet<string>) => names.some((name) => set.has(name));
  if (any(INVALID)) return 'invalid';
  if (any(REFUSED)) return 'refused';
  if (any(CONFLICTS)) return 'conflict';
  return any(THROTTLES) ? 'throttled' : 'unknown';
}

/**
 * LEDGER_UNAVAILABLE (contention) for what passes by itself: conflicts, throttling, lost answers. LEDGER_REFUSED (failure) for
 * rights and names. LEDGER_REQUEST_INVALID (permanent) for a request that can never succeed.
 */
export function ledgerError(error: unknown): UpkeepError {
  const failure = failureOf(error);
  const reason = describe(error);
  if (failure === 'invalid') return ledgerRequestInvalid(`DynamoDB refused the request: ${reason}.`, error);
  if (failure === 'refused') {
    return new UpkeepError(`The ledger cannot be used: ${reason}.`, {
      code: 'LEDGER_REFUSED',
      disposition: 'failure',
      next: 'Check the name of the table, the region and the rights on it.',
      cause: error,
    });
  }
  const messages: Record<Exclude<DynamoFailure, 'invalid' | 'refused'>, string> = {
    conflict: 'Others wrote the same items of the ledger again and again',
    throttled: 'DynamoDB asked to slow down',
    unknown: 'The ledger did not answer',
  };
  return new UpkeepError(`${messages[failure]}: ${reason}.`, {
    code: 'LEDGER_UNAVAILABLE',
    disposition: 'contention',
    next: 'It is tried again by itself.',
    cause: error,
    details: { failure },
  });
}

function describe(error: unknown): string {
  if (error instanceof TransactionCanceledException) {
    const reasons = (error.CancellationReasons ?? []).map(({ Code }) => Code ?? 'None');
    return `transaction cancelled (${reasons.filter((code) => code !== 'None').join(', ')})`;
  }
  return error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : String(error);
}
