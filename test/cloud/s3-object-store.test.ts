import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../src/lance/object-store.ts';
import { createFileObjectStore } from '../../src/storage/file-object-store.ts';
import { createS3Client } from '../../src/storage/s3-client.ts';
import { createS3ObjectStore } from '../../src/storage/s3-object-store.ts';
import { cloudEnvironment, newBucket, orderFault, requestsTo, s3Client } from '../fixtures/cloud.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const text = (value: string) => new TextEncoder().encode(value);

describe('the S3 object store', () => {
  let bucket: string;
  let client: S3Client;
  let store: ObjectStore;

  beforeAll(async () => {
    Object.assign(process.env, cloudEnvironment());
    bucket = await newBucket(s3Client());
    client = createS3Client(process.env);
    store = createS3ObjectStore({ client, uri: `s3://${bucket}/root`, firstWaitMs: 1, tries: 4 });
  });

  const path = (key: string) => `/${bucket}/root/${key}`;

  it('answers everything as the file store does', async () => {
    const files = createFileObjectStore(temporaryFolder());
    const keys = ['a/1', 'a/2', 'a/b/1', 'a-b', 'b', 'c/_x/1', 'c/x', 'Z'];
    const answers = [];
    for (const one of [files, createS3ObjectStore({ client, uri: `s3://${bucket}/same` })]) {
      for (const key of keys) await one.putIfAbsent(key, text(`bytes of ${key}`));
      const said = {
        again: await one.putIfAbsent('b', text('other')),
        bytes: Buffer.from((await one.get('b')) ?? []).toString(),
        none: await one.get('none'),
        noneInside: await one.get('b/c'),
        range: Buffer.from((await one.getRange('b', 6, 4)) ?? []).toString(),
        rangeOverTheEnd: Buffer.from((await one.getRange('b', 9, 100)) ?? []).toString(),
        rangeBehindTheEnd: (await one.getRange('b', 100, 5))?.length,
        emptyRange: (await one.getRange('b', 2, 0))?.length,
        rangeOfNone: await one.getRange('none', 0, 5),
        size: (await one.head('a/1'))?.size,
        headOfNone: await one.head('none'),
        all: (await one.list('')).objects.map(({ key, size }) => [key, size]),
        under: (await one.list('a/')).objects.map(({ key }) => key),
        level: await one
          .list('', { delimiter: '/' })
          .then(({ objects, prefixes }) => [objects.map(({ key }) => key), prefixes]),
        first: await one
          .list('a', { maxKeys: 1 })
          .then(({ objects, truncated }) => [objects.map(({ key }) => key), truncated]),
        exactly: (await one.list('a/b/', { maxKeys: 1 })).truncated,
        after: (await one.list('', { startAfter: 'a/b/1' })).objects.map(({ key }) => key),
      };
      await one.delete('a/1');
      await one.delete('a/1');
      answers.push({ ...said, gone: await one.get('a/1') });
    }

    expect(answers[1]).toEqual(answers[0]);
  });

  it.each(['', '/a', 'a//b', '../a', 'a/../b', 'a/.'])('refuses the key %j before any request', async (key) => {
    await expect(store.get(key)).rejects.toMatchObject({ code: 'KEY_INVALID', disposition: 'permanent' });
    await expect(store.putIfAbsent(key, text('x'))).rejects.toMatchObject({ code: 'KEY_INVALID' });
  });

  it('waits for an S3 that asks to slow down, and reads on', async () => {
    await store.putIfAbsent('slow', text('there'));
    await orderFault({ path: path('slow'), method: 'GET', status: 503, times: 3 });

    expect(Buffer.from((await store.get('slow')) ?? []).toString()).toBe('there');
  });

  it('gives up on an S3 that stays busy as contention, and on one that stays broken as a failure', async () => {
    await orderFault({ path: path('busy'), status: 503, times: 100 });
    await expect(store.get('busy')).rejects.toMatchObject({ code: 'STORE_THROTTLED', disposition: 'contention' });
    await orderFault({ path: path('busy'), status: 500, times: 100 });
    await expect(store.get('busy')).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', disposition: 'failure' });
    await orderFault({ path: path('busy'), status: 500, times: 0 });
  });

  it.each([500, 503])('knows its own object again when the answer to the PUT was a %i', async (status) => {
    await orderFault({ path: path(`own-${status}`), method: 'PUT', status, times: 1, afterWriting: true });

    expect(await store.putIfAbsent(`own-${status}`, text('mine'))).toBe('created');
    expect(await store.putIfAbsent(`own-${status}`, text('mine'))).toBe('exists');
  });

  it('tells another writer’s object from its own after a 409', async () => {
    await orderFault({ path: path('free'), method: 'PUT', status: 409, times: 2 });
    expect(await store.putIfAbsent('free', text('mine'))).toBe('created');
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'root/taken', Body: text('theirs') }));
    await orderFault({ path: path('taken'), method: 'PUT', status: 409, times: 1 });
    expect(await store.putIfAbsent('taken', text('mine'))).toBe('exists');
    await orderFault({ path: path('fought-over'), method: 'PUT', status: 409, times: 100 });
    await expect(store.putIfAbsent('fought-over', text('mine'))).rejects.toMatchObject({
      code: 'STORE_THROTTLED',
      disposition: 'contention',
    });
  });

  it('asks once when the first answer is a plain no', async () => {
    await store.putIfAbsent('once', text('first'));
    const before = (await requestsTo(path('once'))).length;
    expect(await store.putIfAbsent('once', text('first'))).toBe('exists');

    expect((await requestsTo(path('once'))).length - before).toBe(1);
  });

  it('names a bucket that is not there', async () => {
    const lost = createS3ObjectStore({ client, uri: 's3://no-such-bucket-here/db' });
    await expect(lost.list('')).rejects.toMatchObject({ code: 'BUCKET_NOT_FOUND', disposition: 'failure' });
    await expect(lost.putIfAbsent('a', text('x'))).rejects.toMatchObject({ code: 'BUCKET_NOT_FOUND' });
  });

  it('says that an S3 that nobody answers for is not reached', async () => {
    const nowhere = new S3Client({ endpoint: 'http://127.0.0.1:9', forcePathStyle: true, maxAttempts: 1 });
    const lost = createS3ObjectStore({ client: nowhere, uri: 's3://any/db', tries: 2, firstWaitMs: 1 });
    await expect(lost.get('a')).rejects.toMatchObject({ code: 'STORE_UNREACHABLE', disposition: 'failure' });
  });
});
