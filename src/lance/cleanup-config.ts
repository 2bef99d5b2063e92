import { unsupported } from './errors.ts';
import type { TableManifest } from './manifest.ts';
import { MANIFEST_FIELD, readManifestFile } from './manifest-file.ts';
import { parseTimeSpan } from './time-span.ts';
import { textMap } from './wire.ts';

const OLDER_THAN = 'lance.auto_cleanup.older_than';
const RETAIN_VERSIONS = 'lance.auto_cleanup.retain_versions';

/** What the owner of a table wrote into its config about old versions. */
export interface CleanupConfig {
  /** Milliseconds. */
  readonly olderThanMs?: number;
  readonly retainVersions?: number;
}

/**
 * Reads `lance.auto_cleanup.*`. The interval of Lance's own cleanup is not looked at: an age that the owner wrote down is a promise
 * to readers, whoever prunes. Throws `MANIFEST_UNSUPPORTED` for a value that is not understood.
 */
export function cleanupConfigOf(manifest: TableManifest): CleanupConfig {
  const file = readManifestFile(manifest.key, manifest.bytes);
  const config = textMap(file.manifest, MANIFEST_FIELD.config, 'ConfigEntry');
  const olderThan = config[OLDER_THAN];
  const retain = config[RETAIN_VERSIONS];
  const olderThanMs = olderThan === undefined ? undefined : parseTimeSpan(olderThan);
  if (olderThan !== undefined && olderThanMs === undefined) {
    throw unsupported(manifest.key, `says ${OLDER_THAN} = ${JSON.stringify(olderThan)}`, 'time spans such as "30d"');
  }
  if (retain !== undefined && !/^\d{1,15}$/.test(retain)) {
    throw unsupported(manifest.key, `says ${RETAIN_VERSIONS} = ${JSON.stringify(retain)}`, 'whole numbers');
  }
  return {
    ...(olderThanMs !== undefined && { olderThanMs }),
    ...(retain !== undefined && { retainVersions: Number(retain) }),
  };
}
