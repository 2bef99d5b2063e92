import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { connect, type Table } from '@lancedb/lancedb';
import { createFileObjectStore } from '../storage/file-object-store.ts';
import { DEMO_TABLES } from './ailing-tables.ts';
import { type DemoRow, digestRows, type ExpectedRows } from './content.ts';
import { claimDemoDirectory, writeMarker } from './marker.ts';
import { checkSearches, type Search, type SearchCheck } from './searches.ts';
import type { TaggedRows } from './tables.ts';

export interface DemoTable {
  readonly name: string;
  /** Absolute path of the table. */
  readonly target: string;
  readonly ailment: string;
  readonly expected: ExpectedRows;
  /** What people ask it; empty for a table that is not searched. */
  readonly searches: readonly Search[];
  /** Null for a table without a tag. */
  readonly tagged: TaggedRows | null;
}

export interface DemoFleet {
  /** Absolute path: the root to maintain. */
  readonly directory: string;
  readonly tables: readonly DemoTable[];
}

/** One way of reading a table, held against what it should hold. */
export interface ReadCheck {
  readonly rows: number;
  readonly exact: boolean;
}

export interface DemoCheck {
  readonly name: string;
  readonly expectedRows: number;
  /** Base table and waiting generations together, as an ordinary LanceDB query reads. */
  readonly everything: ReadCheck;
  /** The base table alone; exact only once everything is merged. */
  readonly baseOnly: ReadCheck;
  /** Null for a table that is not searched. */
  readonly searches: SearchCheck | null;
  /** The version under the tag; null for a table without one. */
  readonly tagged: (ReadCheck & { readonly tag: string }) | null;
}

/**
 * Builds the demo fleet with LanceDB itself: some tables, each with another ailment, always with the same rows.
 * Takes a few seconds and about 25 MB.
 * @throws DEMO_DIRECTORY_NOT_EMPTY when the folder holds things that no demo made.
 */
export async function buildDemoFleet(
  directory: string,
  onTable: (name: string, ailment: string) => void = () => undefined,
): Promise<DemoFleet> {
  const names = DEMO_TABLES.map(({ name }) => name);
  await claimDemoDirectory(resolve(directory), names);
  const root = await realpath(directory);
  const connection = await connect(root);
  try {
    const tables: DemoTable[] = [];
    for (const table of DEMO_TABLES) {
      onTable(table.name, table.ailment);
      const {
        searches = [],
        tagged = null,
        ...expected
      } = await table.build(connection, (name) => createFileObjectStore(join(root, `${name}.lance`)));
      const target = join(root, `${table.name}.lance`);
      await table.age?.(target);
      tables.push({ name: table.name, target, ailment: table.ailment, expected, searches, tagged });
    }
    const marked = tables.map(({ name, expected }) => ({ name, rows: expected.rows, checksum: expected.checksum }));
    await writeMarker(root, { madeBy: 'lance-upkeep demo', complete: true, tables: marked });
    return { directory: root, tables };
  } finally {
    connection.close();
  }
}

/** Reads and searches every table with LanceDB, with and without the MemWAL and at its tag, through a connection that has seen nothing before. */
export async function checkDemoFleet(fleet: DemoFleet): Promise<DemoCheck[]> {
  const connection = await connect(fleet.directory);
  try {
    const checks: DemoCheck[] = [];
    for (const { name, expected, searches: asked, tagged: wanted } of fleet.tables) {
      const table = await connection.openTable(name);
      const everything = held(expected, (await table.query().toArray()) as DemoRow[]);
      const baseOnly = held(expected, (await table.query().useLsm(false).toArray()) as DemoRow[]);
      const searches = asked.length === 0 ? null : await checkSearches(table, asked);
      const tagged = wanted === null ? null : await checkTagged(table, wanted);
      checks.push({ name, expectedRows: expected.rows, everything, baseOnly, searches, tagged });
    }
    return checks;
  } finally {
    connection.close();
  }
}

async function checkTagged(table: Table, wanted: TaggedRows): Promise<DemoCheck['tagged']> {
  await table.checkout(wanted.tag);
  const rows = (await table.query().toArray()) as DemoRow[];
  await table.checkoutLatest();
  return { tag: wanted.tag, ...held(wanted, rows) };
}

function held(expected: ExpectedRows, rows: DemoRow[]): ReadCheck {
  const found = digestRows(rows);
  return { rows: found.rows, exact: found.rows === expected.rows && found.checksum === expected.checksum };
}
