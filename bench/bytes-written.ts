import { readdir, readFile, stat } from 'node:fs/promises';

/**
 * Begins to watch what this process writes. The function that it answers gives the bytes of new files in the folder, none of which
 * may have been removed meanwhile, and what else was handed to write calls: temporary files. Linux only.
 */
export async function watchWriting(folder: string): Promise<() => Promise<{ written: number; temporary: number }>> {
  const [filesBefore, totalBefore] = [await bytesByFile(folder), await bytesInWriteCalls()];
  return async () => {
    const total = (await bytesInWriteCalls()) - totalBefore;
    let written = 0;
    for (const [file, bytes] of await bytesByFile(folder)) written += filesBefore.has(file) ? 0 : bytes;
    return { written, temporary: Math.max(0, total - written) };
  };
}

async function bytesByFile(folder: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const file = `${entry.parentPath}/${entry.name}`;
    if (entry.isFile()) sizes.set(file, (await stat(file)).size);
  }
  return sizes;
}

async function bytesInWriteCalls(): Promise<number> {
  const written = /wchar: (\d+)/.exec(await readFile('/proc/self/io', 'utf8'))?.[1];
  if (written === undefined) throw new Error('no wchar in /proc/self/io');
  return Number(written);
}
