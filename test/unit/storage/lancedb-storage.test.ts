import { describe, expect, it } from 'vitest';
import { lancedbEnvironment, lancedbStorageOptions } from '../../../src/storage/lancedb-storage.ts';

describe('what LanceDB is told of S3', () => {
  it('is nothing on Amazon’s own: it reads the environment by itself', () => {
    const environment = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };

    expect(lancedbStorageOptions(environment)).toEqual({});
    expect(lancedbEnvironment(environment)).toEqual({});
  });

  it('is endpoint and credentials of another S3, and plain HTTP only where the endpoint is', () => {
    const environment = { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9000', AWS_ACCESS_KEY_ID: 'a', AWS_SESSION_TOKEN: '' };

    expect(lancedbStorageOptions(environment)).toEqual({
      endpoint: 'http://127.0.0.1:9000',
      allow_http: 'true',
      aws_access_key_id: 'a',
    });
    expect(lancedbEnvironment(environment)).toEqual({ AWS_ENDPOINT: 'http://127.0.0.1:9000', AWS_ALLOW_HTTP: 'true' });
    expect(lancedbEnvironment({ AWS_ENDPOINT_URL: 'https://s3.example' })).toEqual({
      AWS_ENDPOINT: 'https://s3.example',
    });
  });
});
