import { describe, expect, it } from 'vitest';
import type { TableManifest } from '../../../src/lance/manifest.ts';
import type { Gate } from '../../../src/work/gate.ts';
import { strategyFor } from '../../../src/work/index-id.ts';

const mebibyte = 1024 ** 2;

/** A table of so many rows, all but one fragment of which its BTree covers, beside a vector index of some size. */
function gate(rows: number, vectorBytes: number, changes: Partial<Gate> = {}): Gate {
  const index = (name: string, kind: string, bytes: number) => ({
    name,
    kind,
    fieldIds: [1],
    fragments: new Set([0]),
    files: [{ path: 'x', bytes }],
  });
  const manifest = {
    liveRows: rows,
    fields: [],
    fragments: [
      { id: 0, liveRows: rows - 10 },
      { id: 1, liveRows: 10 },
    ],
    indexes: [index('id_idx', 'BTree', rows * 20), index('vector_idx', 'Vector', vectorBytes)],
  } as unknown as TableManifest;
  const keyIndex = {
    name: 'id_idx',
    kind: 'BTree',
    exact: true,
    coveredFragments: 1,
    uncoveredFragments: 1,
    unindexedRows: 10,
    segments: 1,
  };
  return { manifest, keyColumn: 'id', keyIndex, coverage: 'covering', ...changes };
}

describe('the index on the key', () => {
  it('is left as it is when it covers every fragment', () => {
    const keyIndex = { ...gate(10, 0).keyIndex, uncoveredFragments: 0 } as Gate['keyIndex'];
    expect(strategyFor(gate(10, 0, { keyIndex }))).toBe('none');
  });

  it('is built anew up to a million rows, and when it is missing or most rows are outside of it', () => {
    expect(strategyFor(gate(1_000_000, 0))).toBe('build');
    expect(strategyFor(gate(50_000_000, 0, { coverage: 'missing', keyIndex: null }))).toBe('build');
    expect(strategyFor(gate(50_000_000, 0, { coverage: 'stale' }))).toBe('build');
  });

  it('is extended on a larger table, unless the other indexes would cost more than its own build', () => {
    expect(strategyFor(gate(50_000_000, 1000 * mebibyte))).toBe('extend');
    expect(strategyFor(gate(50_000_000, 10_000 * mebibyte))).toBe('build');
  });
});
