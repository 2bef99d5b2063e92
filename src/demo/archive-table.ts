import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Index } from '@lancedb/lancedb';
import { listVersions } from '../lance/list-versions.ts';
import { createFileObjectStore } from '../storage/file-object-store.ts';
import { digestRows } from './content.ts';
import { createTable, type DemoTable, plain, span } from './tables.ts';

const ROWS = 60;
/** On each of these days the whole table is written anew, the last time today. */
const DAYS = 120;
const DAY_MS = 86_400_000;
const TAGGED = { tag: 'first-quarter', version: 30 };

const rowsOfDay = (day: number) => span('archive', 0, ROWS, day);

export const archive: DemoTable = {
  name: 'archive',
  ailment: 'a version for each of 120 days, where 7 days of them are kept; one is tagged',
  async build(connection) {
    const table = await createTable(connection, 'archive', rowsOfDay(1));
    for (let day = 2; day <= DAYS; day += 1) await table.add(plain(rowsOfDay(day)), { mode: 'overwrite' });
    await (await table.tags()).create(TAGGED.tag, TAGGED.version);
    await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
    const tagged = { tag: TAGGED.tag, ...digestRows(rowsOfDay(TAGGED.version)) };
    return { ...digestRows(rowsOfDay(DAYS)), tagged };
  },
  // The age of a version is that of its manifest's file.
  async age(directory) {
    const { versions } = await listVersions(createFileObjectStore(directory));
    const now = Date.now();
    for (const { key, version } of versions) {
      const written = new Date(now - Math.max(0, DAYS - version) * DAY_MS);
      await utimes(join(directory, key), written, written);
    }
  },
};
