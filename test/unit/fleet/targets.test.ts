import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalRoot, canonicalTarget } from '../../../src/fleet/targets.ts';

const roots = ['s3://bucket/db'];

function coded(code: string, message = '') {
  return expect.objectContaining({ code, disposition: 'permanent', message: expect.stringContaining(message) });
}

describe('the name of a target on S3', () => {
  it.each(['s3://bucket/db/x.lance', 's3://bucket/db/x.lance/', 'S3://bucket/db/x.lance//'])(
    'is the same for %s',
    async (name) => {
      expect(await canonicalTarget(name, roots)).toBe('s3://bucket/db/x.lance');
    },
  );

  it.each([
    ['', 'empty'],
    ['s3:///db/x.lance', 'bucket'],
    ['s3://bucket/db/../x.lance', '`..`'],
    ['s3://bucket/db/./x.lance', '`.`'],
    ['s3://bucket/db//x.lance', '`//`'],
    ['s3://bucket/db/%2e%2e/x.lance', '%'],
    ['s3://bucket/db/x.lance?versionId=1', 'its name'],
    ['s3://bucket/db/a#b/x.lance', '#'],
    ['s3://bucket/db/x\n.lance', 'control'],
    ['s3://bucket/db/x', '.lance'],
    ['gs://bucket/db/x.lance', 'only paths and s3://'],
    ['file:///db/x.lance', 'only paths and s3://'],
    ['/db/../x.lance', '`..`'],
    ['C:\\db\\..\\x.lance', '`..`'],
    ['s3://bucket/db/outer.lance/x.lance', 'inside another table'],
    ['s3://bucket/db/_lance_upkeep/x.lance', '_lance_upkeep'],
  ])('refuses %j', async (name, why) => {
    const message = name.includes('?') ? '?' : why;
    await expect(canonicalTarget(name, roots)).rejects.toEqual(coded('TARGET_INVALID', message));
  });

  it('is refused outside of the roots, and without any', async () => {
    const outside = coded('TARGET_OUTSIDE_ROOTS', 's3://bucket/db');
    await expect(canonicalTarget('s3://bucket/dbx/x.lance', roots)).rejects.toEqual(outside);
    await expect(canonicalTarget('s3://other/db/x.lance', roots)).rejects.toEqual(outside);
    await expect(canonicalTarget('s3://bucket/db/x.lance', [])).rejects.toEqual(coded('TARGET_OUTSIDE_ROOTS', 'none'));
  });

  it('is canonical already when it was made canonical once', async () => {
    const folder = fc.stringMatching(/^[a-z0-9_=-]{1,8}$/);
    await fc.assert(
      fc.asyncProperty(fc.array(folder, { maxLength: 4 }), folder, fc.nat(3), async (folders, name, slashes) => {
        const input = `s3://bucket/db/${[...folders, `${name}.lance`].join('/')}${'/'.repeat(slashes)}`;
        const once = await canonicalTarget(input, roots);
        expect(await canonicalTarget(once, roots)).toBe(once);
      }),
    );
  });
});

describe('the name of a root on S3', () => {
  it('is a bucket or a prefix without a trailing slash', async () => {
    expect(await canonicalRoot('S3://bucket/')).toBe('s3://bucket');
    expect(await canonicalRoot('s3://bucket/db/')).toBe('s3://bucket/db');
    expect(await canonicalTarget('s3://bucket/x.lance', ['s3://bucket'])).toBe('s3://bucket/x.lance');
  });

  it.each(['', 's3://', 's3://bucket/a//b', 's3://bucket/../b', 's3://bucket/x.lance/', 'https://bucket/db'])(
    'refuses %j',
    async (name) => {
      await expect(canonicalRoot(name)).rejects.toEqual(coded('ROOT_INVALID'));
    },
  );
});
