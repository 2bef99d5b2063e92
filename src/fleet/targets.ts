import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { tableNotFound } from '../lance/errors.ts';
import { tableIn } from '../lance/table-folder.ts';
import { isOnS3, isUri } from '../uri.ts';
import { rootInvalid, targetInvalid, targetOutsideRoots } from './errors.ts';

/** The folder of this product's own files in every root. */
export const OWN_FOLDER = '_lance_upkeep';

/**
 * The one name of a table: an absolute path with all links resolved, or `s3://bucket/prefix/x.lance`. `roots` are canonical ones.
 * Everything that keys on a target (leases above all) needs this: two names would be two leases.
 * @throws UpkeepError TARGET_INVALID, TARGET_OUTSIDE_ROOTS, TABLE_NOT_FOUND (all permanent).
 */
export async function canonicalTarget(input: string, roots: readonly string[]): Promise<string> {
  const wrong = malformed(input);
  if (wrong !== undefined) throw targetInvalid(input, wrong);
  const named = isOnS3(input) ? canonicalUri(input) : withoutEndSlash(resolve(input));
  if (!isTable(named)) throw targetInvalid(input, 'its name does not end in .lance');
  const target = isOnS3(input) ? named : await resolved(named);
  if (!isTable(target)) throw targetInvalid(input, `it links to ${target}, which does not end in .lance`);
  const root = roots.find((candidate) => target.startsWith(`${withoutEndSlash(candidate)}/`));
  if (root === undefined) throw targetOutsideRoots(target, roots);
  const folders = target
    .slice(withoutEndSlash(root).length + 1)
    .split('/')
    .slice(0, -1);
  if (folders.some((folder) => folder.endsWith('.lance'))) throw targetInvalid(input, 'it lies inside another table');
  if (folders.includes(OWN_FOLDER)) throw targetInvalid(input, `${OWN_FOLDER} holds no tables of yours`);
  return target;
}

/**
 * The one name of a root. It has to exist on disk; an S3 prefix is only a name.
 * @throws UpkeepError ROOT_INVALID (permanent).
 */
export async function canonicalRoot(input: string): Promise<string> {
  const wrong = malformed(input);
  if (wrong !== undefined) throw rootInvalid(input, wrong);
  if (withoutEndSlash(input).endsWith('.lance')) throw rootInvalid(input, 'it is a table, not a directory of tables');
  if (isOnS3(input)) return canonicalUri(input);
  let path: string;
  try {
    path = await realpath(resolve(input));
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    if (isMissing(error)) throw rootInvalid(input, 'there is no such directory');
    throw error;
  }
  throw rootInvalid(input, 'it is not a directory');
}

/** Also a table of a directory namespace, whose folder has another kind of name. */
function isTable(target: string): boolean {
  return tableIn(target.slice(target.lastIndexOf('/') + 1)) !== undefined;
}

/** Why a name is refused before anything looks it up; undefined when it is fine. */
function malformed(input: string): string | undefined {
  if (input === '') return 'it is empty';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(input)) return 'it contains a control character';
  if (!isOnS3(input)) {
    if (isUri(input)) return 'only paths and s3:// are known';
    return input.split(/[/\\]/).includes('..') ? 'it contains `..`' : undefined;
  }
  const [bucket, ...folders] = withoutEndSlash(input.slice('s3://'.length)).split('/');
  if (!bucket) return 'it names no bucket';
  if (folders.some((folder) => folder === '..' || folder === '.')) return 'it contains `.` or `..`';
  if (folders.includes('')) return 'it contains `//`';
  // LanceDB reads such a URI as a URL and would look elsewhere than the S3 calls here.
  return /[%?#\\]/.test(input) ? 'it contains one of % ? # \\' : undefined;
}

function canonicalUri(input: string): string {
  return `s3://${withoutEndSlash(input.slice('s3://'.length))}`;
}

function withoutEndSlash(path: string): string {
  return path.replace(/\/+$/, '');
}

async function resolved(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isMissing(error)) throw tableNotFound(path);
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
