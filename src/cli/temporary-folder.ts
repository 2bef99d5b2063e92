import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string | undefined;

/**
 * Gives the native library a temporary folder of this process's own, gone with the process. It makes one for its spill
 * files and never removes it, so that a run every ten minutes would leave thousands. Call it before LanceDB is loaded.
 */
export function useOwnTemporaryFolder(): void {
  if (folder !== undefined) return;
  const mine = mkdtempSync(join(tmpdir(), 'lance-upkeep-'));
  folder = mine;
  process.env.TMPDIR = mine;
  process.on('exit', () => rmSync(mine, { recursive: true, force: true }));
}
