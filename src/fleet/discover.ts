import { type ErrorRecord, errorRecord } from '../errors.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { NAMESPACE_MANIFEST, tableIn } from '../lance/table-folder.ts';
import { tableLeftOut } from './errors.ts';
import { OWN_FOLDER } from './targets.ts';

export interface Discovery {
  /** Tables, or what is named like one, in key order. */
  readonly targets: readonly string[];
  /** Folders below the root that carry an owner marker's folder of their own: roots inside this root. */
  readonly innerRoots: readonly string[];
  /** Folders that could not be listed; everything beside them was. */
  readonly failed: readonly { readonly target: string; readonly error: ErrorRecord }[];
  /** What looks like a table and is none of the targets, each with the reason. */
  readonly leftOut: readonly { readonly target: string; readonly error: ErrorRecord }[];
}

/**
 * The tables under a root, in key order: every `<name>.lance/` that holds `_versions/`, and every table of a directory namespace, at any
 * depth, but never inside of another table or of this product's own folder. One listing per folder and one per table.
 */
export async function discoverTables(root: ObjectStore): Promise<Discovery> {
  const discovery = await discoverCandidates(root);
  const targets: string[] = [];
  const failed = [...discovery.failed];
  const leftOut = [...discovery.leftOut];
  for (const target of discovery.targets) {
    try {
      const folder = `${target.slice(root.uri.length + 1)}/`;
      const { objects } = await root.list(`${folder}_versions/`, { maxKeys: 1 });
      if (objects.length > 0) targets.push(target);
      else leftOut.push(...(await tablesInside(root, folder)));
    } catch (error) {
      failed.push({ target, error: errorRecord(error) });
    }
  }
  return { ...discovery, targets, failed, leftOut };
}

/**
 * The same without the look into each: one listing per folder. Some may turn out to be no tables. Throws only when the
 * root itself cannot be listed.
 */
export async function discoverCandidates(root: ObjectStore): Promise<Discovery> {
  const targets: string[] = [];
  const innerRoots: string[] = [];
  const failed: { target: string; error: ErrorRecord }[] = [];
  const leftOut: LeftOut[] = [];
  const folders = [''];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const prefixes = await prefixesOf(root, folder, failed);
    leftOut.push(...(await linkedTables(root, folder)));
    if (folder !== '' && prefixes.includes(`${folder}_versions/`)) {
      leftOut.push(unusual(root, folder));
      continue;
    }
    for (const prefix of prefixes) {
      const name = prefix.slice(folder.length, -1);
      if (name === OWN_FOLDER) {
        if (folder !== '') innerRoots.push(`${root.uri}/${folder.slice(0, -1)}`);
      } else if (tableIn(name)) targets.push(`${root.uri}/${prefix.slice(0, -1)}`);
      else folders.push(prefix);
    }
  }
  return { targets: targets.sort(), innerRoots, failed, leftOut };
}

type LeftOut = Discovery['leftOut'][number];

function leave(target: string, why: string, next: string): LeftOut {
  return { target, error: errorRecord(tableLeftOut(target, why, next)) };
}

/** Links are not followed, or one table could have two leases. One that leads to a place below this root is found there. */
async function linkedTables(root: ObjectStore, folder: string): Promise<readonly LeftOut[]> {
  const links = (await root.linkedDirectories?.(folder)) ?? [];
  return links.flatMap(({ key, target }) =>
    tableIn(key.slice(folder.length)) === undefined || target.startsWith(`${root.uri}/`)
      ? []
      : leave(
          `${root.uri}/${key}`,
          `it is a symbolic link to ${target}`,
          'Add the folder that the table really lies in to the roots.',
        ),
  );
}

/** A folder that holds versions of a table, under a name that LanceDB opens no table by. */
function unusual(root: ObjectStore, folder: string): LeftOut {
  const target = `${root.uri}/${folder.slice(0, -1)}`;
  const why = 'LanceDB opens no table by a folder name like this';
  if (folder.endsWith(`${NAMESPACE_MANIFEST}/`)) {
    return leave(
      target,
      `${why}; the namespace that lists its tables in it owns its commits`,
      'Nothing has to be done.',
    );
  }
  return leave(target, why, 'Rename the folder to <name>.lance if it is a table of its own.');
}

/** A folder that is named like a table, is none, and holds tables: nothing below such a name is searched. */
async function tablesInside(root: ObjectStore, folder: string): Promise<readonly LeftOut[]> {
  const { prefixes } = await root.list(folder, { delimiter: '/' });
  return prefixes.flatMap((prefix) =>
    tableIn(prefix.slice(folder.length, -1)) === undefined
      ? []
      : leave(
          `${root.uri}/${prefix.slice(0, -1)}`,
          `it lies inside of ${folder.slice(0, -1)}, which is named like a table and is none`,
          'Rename the outer folder so that it does not end in .lance.',
        ),
  );
}

async function prefixesOf(
  root: ObjectStore,
  folder: string,
  failed: { target: string; error: ErrorRecord }[],
): Promise<readonly string[]> {
  try {
    return (await root.list(folder, { delimiter: '/' })).prefixes;
  } catch (error) {
    if (folder === '') throw error;
    failed.push({ target: `${root.uri}/${folder.slice(0, -1)}`, error: errorRecord(error) });
    return [];
  }
}
