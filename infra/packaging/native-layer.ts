import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UpkeepError } from '../../src/errors.ts';
import type { Architecture } from '../settings.ts';
import { PACKAGE_FOLDER } from './function-bundle.ts';

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

const BINARIES: Readonly<Record<Architecture, string>> = {
  x86_64: '@lancedb/lancedb-linux-x64-gnu',
  arm64: '@lancedb/lancedb-linux-arm64-gnu',
};

/** Asked for by packages of the layer, but only by their command lines or their types. */
const UNUSED = /^(@types\/|command-line-)/;
/** Read by compilers and people only. */
const UNREAD = /\.(map|md|html|flow|[cm]?ts)$|^(AGENTS|CONTRIBUTING|pnpm-workspace)/;
/** Counted into the hash: raise it when the layer is put together in another way. */
const RECIPE = 2;

export interface NativeLayer {
  /** Holds `nodejs/node_modules`, as Lambda wants it. */
  readonly folder: string;
  /** Of the packages and their versions: the same on every machine. */
  readonly hash: string;
}

/**
 * LanceDB with its native library, for all functions that need it. Made once for each set of versions and kept, since it is
 * 200 MB large.
 * @throws UpkeepError NATIVE_PACKAGE_MISSING (permanent) when npm has not installed the binary of this architecture.
 */
export function nativeLayer(architecture: Architecture): NativeLayer {
  const packages = closure(['@lancedb/lancedb', 'apache-arrow', BINARIES[architecture]], architecture);
  const names = packages.map((name) => `${name}@${manifestOf(name).version}`);
  const hash = createHash('sha256')
    .update(JSON.stringify([RECIPE, architecture, names]))
    .digest('hex');
  const folder = join(PACKAGE_FOLDER, 'native-layer', hash.slice(0, 16));
  if (!existsSync(folder)) {
    // Two builds at once make two folders, and one of them wins.
    const draft = `${folder}.${process.pid}`;
    rmSync(draft, { recursive: true, force: true });
    for (const name of packages) copyPackage(join(MODULES, name), join(draft, 'nodejs', 'node_modules', name));
    takePlace(draft, folder);
  }
  return { folder, hash };
}

interface PackageManifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifestOf(name: string): PackageManifest {
  return JSON.parse(readFileSync(join(MODULES, name, 'package.json'), 'utf8')) as PackageManifest;
}

/** The packages and all that they need at run time, sorted. npm keeps each of these once, at the top. */
function closure(roots: readonly string[], architecture: Architecture): readonly string[] {
  const found = new Set<string>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name) || UNUSED.test(name)) continue;
    if (!existsSync(join(MODULES, name))) throw packageMissing(name, architecture);
    found.add(name);
    waiting.push(...Object.keys(manifestOf(name).dependencies ?? {}));
  }
  return [...found].sort();
}

/** Hard links where the file system has them: nothing of a package is ever changed in place. */
function copyPackage(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name === 'node_modules' || entry.name === 'bin' || UNREAD.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyPackage(source, target);
    else if (entry.isFile()) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // Another file system, or one without links.
    copyFileSync(source, target);
  }
}

function takePlace(draft: string, folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function packageMissing(name: string, architecture: Architecture): UpkeepError {
  const cpu = architecture === 'arm64' ? 'arm64' : 'x64';
  return new UpkeepError(`The layer needs the package ${name}, which is not installed.`, {
    code: 'NATIVE_PACKAGE_MISSING',
    disposition: 'permanent',
    next: `Install it for Lambda's machines: npm install --os=linux --cpu=${cpu} --libc=glibc`,
    details: { name, architecture },
  });
}
