import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { createS3ObjectStore } from '../../../src/storage/s3-object-store.ts';
import { cloudEnvironment, newBucket, s3Client } from '../../fixtures/cloud.ts';

const run = promisify(execFile);

function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
}

function inProcess(script: string, words: readonly string[]): Promise<{ stdout: string }> {
  const environment = cloudEnvironment();
  return run(process.execPath, ['--no-warnings', fixture(script), ...words], {
    env: { ...process.env, ...environment, AWS_ENDPOINT: environment.AWS_ENDPOINT_URL_S3, AWS_ALLOW_HTTP: 'true' },
  });
}

describe('the S3 stand-in', () => {
  it('lets exactly one of eight processes win each of 200 keys', async () => {
    const client = s3Client();
    const bucket = await newBucket(client);
    const writers = Array.from({ length: 8 }, (_, index) =>
      inProcess('put-if-absent-s3-process.ts', [`s3://${bucket}/race`, `process${index}`, '200']),
    );
    const won = (await Promise.all(writers)).flatMap(({ stdout }) => JSON.parse(stdout) as string[]);

    expect(won).toHaveLength(200);
    expect(new Set(won).size).toBe(200);
  });

  it('loses no row of eight LanceDB processes that append to one table', async () => {
    const bucket = await newBucket(s3Client());
    const environment = cloudEnvironment();
    const storageOptions = {
      endpoint: environment.AWS_ENDPOINT_URL_S3 ?? '',
      allow_http: 'true',
      aws_access_key_id: environment.AWS_ACCESS_KEY_ID ?? '',
      aws_secret_access_key: environment.AWS_SECRET_ACCESS_KEY ?? '',
      region: environment.AWS_REGION ?? '',
    };
    const connection = await connect(`s3://${bucket}/db`, { storageOptions });
    await connection.createTable('shared', [{ id: 'first' }]);
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        inProcess('append-rows-process.ts', [`s3://${bucket}/db`, 'shared', `process${index}`, '5']),
      ),
    );
    const table = await connection.openTable('shared');
    const rows = (await table.query().toArray()) as { id: string }[];

    expect(rows).toHaveLength(41);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(41);
  });

  it('lists in byte order, page after page, whatever the keys are made of', async () => {
    const client = s3Client();
    const store = createS3ObjectStore({ client, uri: `s3://${await newBucket(client)}` });
    const keys = ['B', 'a', '_x/1', '_x/2', 'A-b', 'A_b', 'Ab', 'z/1', '~'];
    for (const key of keys) await store.putIfAbsent(key, new Uint8Array([1]));
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const page = await store.list('', { maxKeys: 2, ...(after === '' ? {} : { startAfter: after }) });
      seen.push(...page.objects.map(({ key }) => key));
      if (!page.truncated) break;
      after = seen.at(-1) ?? '';
    }

    expect(seen).toEqual(keys.toSorted());
  });
});
