import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { UpkeepError } from '../errors.ts';

/** The file that says "this folder was made by the demo and may be remade by it". */
export const DEMO_MARKER = '.lance-upkeep-demo.json';

const markerShape = z.object({
  madeBy: z.literal('lance-upkeep demo'),
  complete: z.boolean(),
  tables: z.array(z.object({ name: z.string(), rows: z.number(), checksum: z.string() })),
});

/** `complete` is false while the fleet is being built, so that a demo that was cut off is remade, not trusted. */
export type DemoMarker = z.infer<typeof markerShape>;

/** Undefined when the folder does not exist or was not made by the demo. */
export async function readMarker(directory: string): Promise<DemoMarker | undefined> {
  let text: string;
  try {
    text = await readFile(join(directory, DEMO_MARKER), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const parsed = markerShape.safeParse(parseJson(text));
  return parsed.success ? parsed.data : undefined;
}

export async function writeMarker(directory: string, marker: DemoMarker): Promise<void> {
  await writeFile(join(directory, DEMO_MARKER), `${JSON.stringify(marker, null, 2)}\n`);
}

/**
 * Makes the folder ready for a new demo fleet: creates it, or clears what an earlier demo made in it.
 * Only names that a demo makes are removed; anything else in a marked folder stays.
 * @throws DEMO_DIRECTORY_NOT_EMPTY when it holds anything and no marker.
 */
export async function claimDemoDirectory(directory: string, tableNames: readonly string[]): Promise<void> {
  const present = await entriesOf(directory);
  if (present.length > 0 && (await readMarker(directory)) === undefined) {
    throw new UpkeepError(`${directory} is not empty and was not made by the demo, so nothing was written there.`, {
      code: 'DEMO_DIRECTORY_NOT_EMPTY',
      disposition: 'permanent',
      next: 'Name a folder that does not exist yet, or an empty one.',
      details: { directory, found: present.slice(0, 5) },
    });
  }
  const ours = [
    ...tableNames.map((name) => `${name}.lance`),
    '_lance_upkeep',
    'ledger.sqlite',
    'ledger.sqlite-wal',
    'ledger.sqlite-shm',
  ];
  // The marker goes last: a folder that is half cleared is still known as ours.
  for (const name of ours) await rm(join(directory, name), { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await writeMarker(directory, { madeBy: 'lance-upkeep demo', complete: false, tables: [] });
}

async function entriesOf(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw new UpkeepError(`${directory} cannot be used for the demo: ${(error as Error).message}.`, {
      code: 'DEMO_DIRECTORY_UNUSABLE',
      disposition: 'permanent',
      next: 'Name a folder that does not exist yet, or an empty one.',
      cause: error,
    });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
