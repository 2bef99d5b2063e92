import { connect } from '@lancedb/lancedb';
import { flushGeneration, type PlainRow } from '../fixtures/tables.ts';

/** Writes one generation in a process of its own. Arguments: database, table, rows as JSON. */
const [database, name, content] = process.argv.slice(2) as [string, string, string];
const table = await (await connect(database)).openTable(name);
await flushGeneration(table, JSON.parse(content) as PlainRow[]);
