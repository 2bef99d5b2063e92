import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory and what is missing above it. Node's own recursive mkdir never ends where a file system says that the new directory's
 * parent is not there although it is, as /proc does.
 */
export async function makeDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await made(at)); at = dirname(at)) {
    if (at === dirname(at)) break;
    missing.push(at);
  }
  // Another process may have made one of them meanwhile.
  for (const one of missing.reverse()) await mkdir(one).catch(unlessCode('EEXIST'));
}

/** False when its parent is missing, too. */
async function made(path: string): Promise<boolean> {
  try {
    await mkdir(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    unlessCode('EEXIST')(error);
    // A file in the place of a directory stays an error.
    if (!(await stat(path)).isDirectory()) throw error;
  }
  return true;
}

function unlessCode(code: string): (error: unknown) => void {
  return (error) => {
    if (!hasCode(error, code)) throw error;
  };
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
