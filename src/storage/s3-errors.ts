import { S3ServiceException } from '@aws-sdk/client-s3';
import { UpkeepError } from '../errors.ts';

/** What an error of S3 means for the call that met it. */
export type S3Failure = 'absent' | 'exists' | 'conflict' | 'busy' | 'unreachable' | 'denied' | 'no bucket' | 'other';

const BUSY = new Set([
  'SlowDown',
  'ServiceUnavailable',
  'Throttling',
  'ThrottlingException',
  'RequestLimitExceeded',
  'TooManyRequests',
]);
const DENIED = new Set([
  'AccessDenied',
  'ExpiredToken',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
  'CredentialsProviderError',
]);

/** The one place that reads what the SDK throws. */
export function failureOf(error: unknown): S3Failure {
  const name = error instanceof Error ? error.name : '';
  if (DENIED.has(name)) return 'denied';
  if (!(error instanceof S3ServiceException)) return 'unreachable';
  const status = error.$metadata.httpStatusCode ?? 0;
  if (name === 'NoSuchBucket') return 'no bucket';
  if (name === 'NoSuchKey' || name === 'NotFound' || status === 404) return 'absent';
  if (status === 412) return 'exists';
  if (status === 409) return 'conflict';
  if (BUSY.has(name) || status === 429 || status === 503) return 'busy';
  if (status === 403) return 'denied';
  // 408 and 500 to 504: the request may or may not have been carried out.
  return status === 408 || status >= 500 ? 'unreachable' : 'other';
}

/** True when the SDK itself had to ask more than once, so that the answer may be about its own earlier request. */
export function wasRepeated(error: unknown): boolean {
  return error instanceof S3ServiceException && (error.$metadata.attempts ?? 1) > 1;
}

/**
 * STORE_THROTTLED (contention), STORE_UNREACHABLE, STORE_ACCESS_DENIED, BUCKET_NOT_FOUND, STORE_IO (failures): nothing
 * that S3 says of a moment is taken as permanent.
 */
export function s3Error(error: unknown, uri: string, action: string): UpkeepError {
  const failure = failureOf(error);
  const reason = error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 400) : String(error);
  const { code, disposition, next } = DESCRIPTIONS[failure];
  return new UpkeepError(`Could not ${action} ${uri}: ${reason}`, {
    code,
    disposition,
    next,
    cause: error,
    details: { uri, reason },
  });
}

const IO = {
  code: 'STORE_IO',
  disposition: 'failure',
  next: 'The message is S3’s own; it is tried again.',
} as const;

const DESCRIPTIONS: Record<S3Failure, { code: string; disposition: 'contention' | 'failure'; next: string }> = {
  busy: {
    code: 'STORE_THROTTLED',
    disposition: 'contention',
    next: 'Nothing to do: it is tried again, slower.',
  },
  conflict: {
    code: 'STORE_THROTTLED',
    disposition: 'contention',
    next: 'Others write the same key at the same time; it is tried again.',
  },
  unreachable: {
    code: 'STORE_UNREACHABLE',
    disposition: 'failure',
    next: 'Check the network, the endpoint and the region; it is tried again.',
  },
  denied: {
    code: 'STORE_ACCESS_DENIED',
    disposition: 'failure',
    next: 'Check the credentials and that they may list, read, write and delete below this root.',
  },
  'no bucket': {
    code: 'BUCKET_NOT_FOUND',
    disposition: 'failure',
    next: 'Check the name of the bucket and the region.',
  },
  absent: IO,
  exists: IO,
  other: IO,
};
