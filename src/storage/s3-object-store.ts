import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { jitteredWait } from '../backoff.ts';
import { UpkeepError } from '../errors.ts';
import type { Listing, ListOptions, ObjectStore, ObjectSummary } from '../lance/object-store.ts';
import { failureOf, s3Error, wasRepeated } from './s3-errors.ts';

export interface S3StoreOptions {
  readonly client: S3Client;
  /** Canonical `s3://bucket` or `s3://bucket/prefix`. */
  readonly uri: string;
  readonly random?: () => number;
  /** How often a call is tried when S3 is busy or does not answer. Default 6. */
  readonly tries?: number;
  /** The first wait in milliseconds; it doubles. Default 100. */
  readonly firstWaitMs?: number;
}

const LARGEST_PAGE = 1000;
const LONGEST_WAIT_MS = 5_000;

/**
 * The object store of one S3 prefix. `putIfAbsent` is a conditional PUT; where an answer was lost (or S3 answers 409) the
 * object itself tells whether the write was ours. A busy or silent S3 is asked again with jitter.
 * Errors: STORE_THROTTLED (contention), STORE_UNREACHABLE, STORE_ACCESS_DENIED, BUCKET_NOT_FOUND, STORE_IO, KEY_INVALID.
 */
export function createS3ObjectStore(options: S3StoreOptions): ObjectStore {
  const { client, uri } = options;
  const random = options.random ?? Math.random;
  const tries = options.tries ?? 6;
  const firstWaitMs = options.firstWaitMs ?? 100;
  const [bucket = '', ...folders] = uri.slice('s3://'.length).split('/');
  const root = folders.length === 0 ? '' : `${folders.join('/')}/`;

  function at(key: string): { Bucket: string; Key: string } {
    if (key.split('/').some((part) => part === '' || part === '.' || part === '..')) throw invalidKey(uri, key);
    return { Bucket: bucket, Key: root + key };
  }

  async function pause(attempt: number): Promise<void> {
    await sleep(jitteredWait(random, attempt, { firstMs: firstWaitMs, longestMs: LONGEST_WAIT_MS }));
  }

  /** Undefined for what is absent. */
  async function orAbsent<T>(action: string, key: string, call: () => Promise<T>): Promise<T | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'absent') return undefined;
        const again = failure === 'busy' || failure === 'unreachable';
        if (!again || attempt >= tries) throw s3Error(error, `${uri}/${key}`, action);
      }
      await pause(attempt);
    }
  }

  async function get(key: string, range?: string): Promise<Uint8Array | undefined> {
    const place = at(key);
    return orAbsent('read', key, async () => {
      const { Body } = await client.send(new GetObjectCommand({ ...place, ...(range ? { Range: range } : {}) }));
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    });
  }

  async function head(key: string): Promise<ObjectSummary | undefined> {
    const place = at(key);
    return orAbsent('look at', key, async () => {
      const { ContentLength = 0, LastModified } = await client.send(new HeadObjectCommand(place));
      return { key, size: ContentLength, modified: LastModified?.getTime() ?? 0 };
    });
  }

  async function page(prefix: string, options: ListOptions, room: number, token: string | undefined) {
    const request = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: root + prefix,
      MaxKeys: Math.min(LARGEST_PAGE, room),
      ...(options.delimiter ? { Delimiter: options.delimiter } : {}),
      ...(token ? { ContinuationToken: token } : {}),
      ...(options.startAfter === undefined || token ? {} : { StartAfter: root + options.startAfter }),
    });
    const answer = await orAbsent('list', prefix, () => client.send(request));
    // A listing has no 404 of its own: this one is a bucket's.
    if (!answer) throw s3Error(new Error(`there is no bucket ${bucket}`), `${uri}/${prefix}`, 'list');
    return answer;
  }

  async function list(prefix: string, options: ListOptions = {}): Promise<Listing> {
    const limit = options.maxKeys ?? Number.POSITIVE_INFINITY;
    const objects: ObjectSummary[] = [];
    const prefixes: string[] = [];
    let token: string | undefined;
    do {
      const room = limit - objects.length - prefixes.length;
      if (room <= 0) return { objects, prefixes, truncated: true };
      const answer = await page(prefix, options, room, token);
      for (const { Key = '', Size = 0, LastModified } of answer.Contents ?? []) {
        const key = Key.slice(root.length);
        // The marker object that consoles make for a folder has the folder's own name.
        if (key !== '' && !key.endsWith('/')) objects.push({ key, size: Size, modified: LastModified?.getTime() ?? 0 });
      }
      for (const { Prefix = '' } of answer.CommonPrefixes ?? []) prefixes.push(Prefix.slice(root.length));
      token = answer.IsTruncated ? answer.NextContinuationToken : undefined;
    } while (token !== undefined);
    return { objects, prefixes, truncated: false };
  }

  async function putIfAbsent(key: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
    const request = new PutObjectCommand({ ...at(key), Body: bytes, IfNoneMatch: '*' });
    /** An earlier request of ours may have been carried out although its answer said otherwise or was lost. */
    let ambiguous = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.send(request);
        return 'created';
      } catch (error) {
        const failure = failureOf(error);
        ambiguous ||= wasRepeated(error) || failure === 'conflict' || failure === 'unreachable' || failure === 'busy';
        if (failure === 'exists' && !ambiguous) return 'exists';
        const again = failure === 'busy' || failure === 'unreachable' || failure === 'conflict' || failure === 'exists';
        if (!again) throw s3Error(error, `${uri}/${key}`, 'write');
        const present = await get(key);
        if (present) return Buffer.from(present).equals(bytes) ? 'created' : 'exists';
        if (attempt >= tries) throw s3Error(error, `${uri}/${key}`, 'write');
      }
      await pause(attempt);
    }
  }

  return {
    uri,
    get: (key) => get(key),
    head,
    list,
    putIfAbsent,
    async getRange(key, start, length) {
      // S3 refuses a range without bytes.
      if (length <= 0) return (await head(key)) && new Uint8Array();
      try {
        return await get(key, `bytes=${start}-${start + length - 1}`);
      } catch (error) {
        if (error instanceof UpkeepError && isBeyondEnd(error.cause)) return new Uint8Array();
        throw error;
      }
    },
    async delete(key) {
      const place = at(key);
      await orAbsent('delete', key, () => client.send(new DeleteObjectCommand(place)));
    },
  };
}

function isBeyondEnd(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'InvalidRange';
}

function invalidKey(uri: string, key: string): UpkeepError {
  return new UpkeepError(
    `The key ${JSON.stringify(key)} is refused under ${uri}: keys are relative, without empty, "." or ".." parts.`,
    {
      code: 'KEY_INVALID',
      disposition: 'permanent',
      next: 'Nothing was read or written. A manifest that names such a key is damaged or hostile.',
      details: { uri, key },
    },
  );
}
