import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { UpkeepError } from '../errors.ts';
import { tableNotFound } from '../lance/errors.ts';
import { isUri } from '../uri.ts';

/**
 * The roots to maintain: those of the command line, else UPKEEP_ROOTS. Paths become absolute.
 * @throws ROOTS_MISSING, ROOT_NOT_FOUND, ROOT_INVALID
 */
export async function rootsToMaintain(
  named: readonly string[],
  configured: readonly string[],
  cwd: string,
): Promise<string[]> {
  if (named.some((root) => root.trim() === '')) {
    throw new UpkeepError('A root is empty, as it is when a variable in a script is not set.', {
      code: 'ROOT_INVALID',
      disposition: 'permanent',
      next: 'Name the folder that holds your tables; the current folder is "." or its path.',
    });
  }
  const roots = (named.length > 0 ? named : configured).map((root) => (isUri(root) ? root : resolve(cwd, root)));
  if (roots.length === 0) {
    throw new UpkeepError('No root was given, so there is nothing to maintain.', {
      code: 'ROOTS_MISSING',
      disposition: 'permanent',
      next: 'Name the folder that holds your tables, as in "lance-upkeep run /data/db", or set UPKEEP_ROOTS.',
    });
  }
  for (const root of roots) if (!isUri(root)) await assertFolderOfTables(root);
  return roots;
}

async function assertFolderOfTables(root: string): Promise<void> {
  if (root.endsWith('.lance')) {
    throw new UpkeepError(`${root} is named like a table; a root is the folder that holds tables.`, {
      code: 'ROOT_INVALID',
      disposition: 'permanent',
      next: `Use its folder ${dirname(root)} as the root.`,
      details: { root },
    });
  }
  const kind = await kindOf(root);
  if (kind === 'folder') return;
  throw new UpkeepError(kind === 'missing' ? `The root ${root} does not exist.` : `The root ${root} is not a folder.`, {
    code: kind === 'missing' ? 'ROOT_NOT_FOUND' : 'ROOT_INVALID',
    disposition: 'permanent',
    next: 'Check the path; a root is the folder that holds your *.lance tables.',
    details: { root },
  });
}

async function kindOf(path: string): Promise<'missing' | 'folder' | 'other'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    throw error;
  }
}

export interface TargetAndRoots {
  readonly target: string;
  readonly roots: readonly string[];
}

/**
 * An absolute target and the roots it is looked for under: UPKEEP_ROOTS where set, else the folder that the table lies in.
 * @throws TARGET_INVALID for a target with `..`, which could point outside what its text shows; TABLE_NOT_FOUND
 */
export async function locateTarget(
  target: string,
  configured: readonly string[],
  cwd: string,
): Promise<TargetAndRoots> {
  if (target.split('/').includes('..')) {
    throw new UpkeepError(`The target ${target} contains "..", so its text does not show which table it means.`, {
      code: 'TARGET_INVALID',
      disposition: 'permanent',
      next: isUri(target) ? 'Write the whole URI of the table.' : `Write the whole path: ${resolve(cwd, target)}`,
      details: { target },
    });
  }
  const absolute = isUri(target) ? target.replace(/\/+$/, '') : resolve(cwd, target);
  if (configured.length > 0) return { target: absolute, roots: configured.map((root) => rootPath(root, cwd)) };
  if (isUri(target)) return { target: absolute, roots: [absolute.slice(0, absolute.lastIndexOf('/'))] };
  return { target: absolute, roots: [dirname(await linkedPath(absolute))] };
}

/** A link to a table stands for the table, so the root is where the table really lies. */
async function linkedPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    if (path.endsWith('.lance')) throw tableNotFound(path);
    throw new UpkeepError(`There is no ${path}, and the name of a table ends in .lance.`, {
      code: 'TABLE_NOT_FOUND',
      disposition: 'permanent',
      next: `If you mean the table of that name, write ${path}.lance`,
      details: { path },
    });
  }
}

function rootPath(root: string, cwd: string): string {
  return isUri(root) ? root : resolve(cwd, root);
}
