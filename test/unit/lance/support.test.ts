import { describe, expect, it } from 'vitest';
import { decodeManifest } from '../../../src/lance/manifest.ts';
import { assertReadable, assertWritable } from '../../../src/lance/support.ts';
import { bytesField, textField, varintField } from '../../../src/lance/wire-writer.ts';
import { type ManifestFields, manifestBytes, v2Key } from './synthetic.ts';

const unsupported = expect.objectContaining({
  code: 'MANIFEST_UNSUPPORTED',
  disposition: 'permanent',
  details: expect.objectContaining({ file: expect.stringContaining('_versions/'), expected: expect.any(String) }),
});

function manifest(parts: ManifestFields) {
  return decodeManifest(v2Key(7), manifestBytes(parts));
}

describe('what is refused', () => {
  it('accepts what LanceDB 0.39 writes by default, with deletions and table config', () => {
    for (const flags of [0, 1, 4, 8, 13]) {
      expect(() => assertWritable(manifest({ readerFlags: flags, writerFlags: flags }))).not.toThrow();
    }
  });

  it.each([64, 128, 256, 2 ** 31, 2 ** 32, 2 ** 52])('refuses to read with the unknown reader flag %d', (flag) => {
    expect(() => assertReadable(manifest({ readerFlags: flag + 1 }))).toThrow(unsupported);
    expect(() => assertReadable(manifest({ readerFlags: flag + 1 }))).toThrow(String(flag));
  });

  it('refuses to read a branch', () => {
    expect(() => assertReadable(manifest({ extra: [textField(20, 'side')] }))).toThrow(unsupported);
  });

  it.each<[string, ManifestFields]>([
    ['stable row ids', { readerFlags: 2, writerFlags: 2 }],
    ['more base paths', { extra: [bytesField(18, varintField(1, 1))] }],
    ['the base paths flag', { readerFlags: 16 }],
    ['tables without transaction files', { writerFlags: 32 }],
    ['an unknown writer flag', { writerFlags: 512 }],
    [
      'a deferred index remap',
      { indexes: [{ name: '__lance_frag_reuse', fieldIds: [], typeUrl: '/lance.table.FragmentReuseIndexDetails' }] },
    ],
    ['the legacy data format', { dataFormat: '0.1' }],
  ])('reads but does not write with %s', (_, parts) => {
    expect(() => assertReadable(manifest(parts))).not.toThrow();
    expect(() => assertWritable(manifest(parts))).toThrow(unsupported);
  });

  it('reads but does not write V1 names', () => {
    const v1 = decodeManifest('_versions/7.manifest', manifestBytes());
    expect(() => assertReadable(v1)).not.toThrow();
    expect(() => assertWritable(v1)).toThrow(unsupported);
  });
});
