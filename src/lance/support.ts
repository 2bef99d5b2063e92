import { unsupported } from './errors.ts';
import { FRAGMENT_REUSE_INDEX } from './index-section.ts';
import type { TableManifest } from './manifest.ts';

/** Feature flags of the format, by bit. */
const FLAG = {
  deletionFiles: 1,
  stableRowIds: 2,
  fileFormatV2: 4,
  tableConfig: 8,
  basePaths: 16,
  noTransactionFiles: 32,
} as const;

const READABLE = Object.values(FLAG).reduce((mask, bit) => mask | bit, 0);
const WRITABLE = FLAG.deletionFiles | FLAG.fileFormatV2 | FLAG.tableConfig;

/** What the judgement of a manifest needs to know of it. */
export interface SupportFacts
  extends Pick<
    TableManifest,
    'key' | 'version' | 'naming' | 'readerFlags' | 'writerFlags' | 'stableRowIds' | 'basePaths' | 'dataFormatVersion'
  > {
  readonly branch?: string;
  readonly indexes: readonly { readonly name: string }[];
}

/** The set bits of `flags` that are not in `known`. Flags may exceed 32 bits. */
function bitsOutside(flags: number, known: number): bigint[] {
  const bits: bigint[] = [];
  for (let rest = BigInt(flags) & ~BigInt(known), bit = 1n; rest > 0n; rest >>= 1n, bit <<= 1n) {
    if (rest & 1n) bits.push(bit);
  }
  return bits;
}

function assertKnownFlags(manifest: SupportFacts, flags: number, known: number, side: 'reader' | 'writer'): void {
  const unknown = bitsOutside(flags, known);
  if (unknown.length === 0) return;
  throw unsupported(
    manifest.key,
    `asks for ${side} feature ${unknown.join(', ')}`,
    `${side} features ${bitsOutside(known, 0).join(', ')}`,
    { flags, version: manifest.version },
  );
}

/** Throws `MANIFEST_UNSUPPORTED` when what the manifest says may not be what it means: unknown reader flag, branch. */
export function assertReadable(manifest: SupportFacts): void {
  assertKnownFlags(manifest, manifest.readerFlags, READABLE, 'reader');
  if (manifest.branch !== undefined) {
    throw unsupported(manifest.key, `belongs to branch "${manifest.branch}"`, 'the main branch');
  }
}

/** Throws `MANIFEST_UNSUPPORTED` for whatever has not been tested under our own commits; call it before any write. */
export function assertWritable(manifest: SupportFacts): void {
  assertReadable(manifest);
  const { key } = manifest;
  if (manifest.naming !== 'V2') {
    throw unsupported(key, 'has a V1 name', 'V2 names (migrate with table.migrateManifestPathsV2())');
  }
  if (manifest.stableRowIds) throw unsupported(key, 'uses stable row ids', 'tables without stable row ids');
  if (manifest.basePaths > 0) {
    throw unsupported(key, `spreads over ${manifest.basePaths} more base paths`, 'tables in one directory');
  }
  assertKnownFlags(manifest, manifest.readerFlags, WRITABLE, 'reader');
  assertKnownFlags(manifest, manifest.writerFlags, WRITABLE, 'writer');
  if (manifest.indexes.some((index) => index.name === FRAGMENT_REUSE_INDEX)) {
    throw unsupported(key, `holds ${FRAGMENT_REUSE_INDEX}, a deferred index remap`, 'compactions that remap at once');
  }
  if (!/^2\.\d+$/.test(manifest.dataFormatVersion)) {
    const found = `tables data in format "${manifest.dataFormatVersion}"`;
    throw unsupported(key, found, 'format 2.x');
  }
}
