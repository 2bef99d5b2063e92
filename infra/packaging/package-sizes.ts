import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { deflateRawSync } from 'node:zlib';

export interface PackageSize {
  /** Bytes of all files. */
  readonly unzipped: number;
  /** Bytes of the zip that is uploaded. */
  readonly zipped: number;
}

/** A zip keeps each name twice: before the file, and in the directory at its end. */
const LOCAL_HEADER = 30;
const DIRECTORY_ENTRY = 46;
const END = 22;

/** Bytes of all files of a folder. */
export function unzippedBytes(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** Sizes of a folder as Lambda counts them. Takes about ten seconds for the layer. */
export function packageSize(folder: string): PackageSize {
  let unzipped = 0;
  let zipped = END;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path);
    unzipped += bytes.length;
    const name = Buffer.byteLength(relative(folder, path));
    zipped += LOCAL_HEADER + DIRECTORY_ENTRY + 2 * name + deflateRawSync(bytes).length;
  }
  return { unzipped, zipped };
}
