import { describe, expect, it } from 'vitest';
import { isOnS3, isUri } from '../../src/uri.ts';

describe('a place', () => {
  it('is a URI when it begins with a scheme', () => {
    expect(['s3://b/db', 'S3://b', 'gs://b', '/data/db', 'C:/db', './s3:/b'].map(isUri)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('is on S3 when that scheme is s3', () => {
    expect(['s3://b/db', 'S3://b', 'gs://b', '/data/s3://x'].map(isOnS3)).toEqual([true, true, false, false]);
  });
});
