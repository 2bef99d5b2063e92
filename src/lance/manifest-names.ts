export type ManifestNaming = 'V1' | 'V2';

const LARGEST = 2n ** 64n - 1n;
/** Every V2 name of a version below 7.3e10 starts so; detached versions, the hint and V1 names do not. */
export const V2_PREFIX = '_versions/18446744';
export const VERSIONS_PREFIX = '_versions/';

/** `_versions/18446744073709551614.manifest` (V2) or `_versions/1.manifest` (V1) for version 1. */
export function manifestKey(version: number, naming: ManifestNaming): string {
  const name = naming === 'V1' ? String(version) : String(LARGEST - BigInt(version)).padStart(20, '0');
  return `${VERSIONS_PREFIX}${name}.manifest`;
}

/** Version and naming behind a manifest key; undefined for anything else there (detached versions, the hint). */
export function parseManifestKey(key: string): { version: number; naming: ManifestNaming } | undefined {
  const digits = /^_versions\/(\d{1,20})\.manifest$/.exec(key)?.[1];
  if (digits === undefined) return undefined;
  const naming = digits.length === 20 ? 'V2' : 'V1';
  const version = naming === 'V2' ? LARGEST - BigInt(digits) : BigInt(digits);
  // A number this large is no version that Lance has counted to; the name is some other file's.
  if (version < 0n || version > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  return { version: Number(version), naming };
}

/** Shard manifests: the version's 64 bits, lowest first, so that consecutive names spread over S3 partitions. */
export function shardManifestKey(shardId: string, version: number): string {
  const bits = [...BigInt(version).toString(2).padStart(64, '0')].reverse().join('');
  return `${shardManifestPrefix(shardId)}${bits}.binpb`;
}

export function shardManifestPrefix(shardId: string): string {
  return `_mem_wal/${shardId}/manifest/`;
}

/** The version in a shard manifest's key; undefined for other files there (the hint). */
export function parseShardManifestKey(key: string): number | undefined {
  const bits = /\/manifest\/([01]{64})\.binpb$/.exec(key)?.[1];
  if (bits === undefined) return undefined;
  const version = BigInt(`0b${[...bits].reverse().join('')}`);
  return version > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(version);
}
