import type { Table } from '@lancedb/lancedb';
import { queryIndexes } from '../lance/index-coverage.ts';
import type { TableManifest } from '../lance/manifest.ts';
import type { Problem } from '../tasks/task.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { columnPath } from './index-columns.ts';

/**
 * The indexes of a table whose files LanceDB cannot read, each with what it said. Loads every index that is asked about,
 * so it is for the case that something has failed.
 * @param names which to look at; default all.
 */
export async function unreadableIndexes(
  context: WorkContext,
  dependencies: WorkDependencies,
  manifest: TableManifest,
  names: readonly string[] = [...queryIndexes(manifest).keys()],
): Promise<readonly Problem[]> {
  const table = await dependencies.lancedb.openTable(context.target);
  try {
    const problems: Problem[] = [];
    for (const name of names) {
      const reason = await whyUnreadable(context, table, name);
      if (reason !== undefined) problems.push(indexProblem(manifest, name, reason));
    }
    return problems;
  } finally {
    table.close();
  }
}

async function whyUnreadable(context: WorkContext, table: Table, name: string): Promise<string | undefined> {
  try {
    await context.native(() => table.prewarmIndex(name));
    return undefined;
  } catch (error) {
    context.signal.throwIfAborted();
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

/** Names an index that could not be extended, why, and how to repair it. */
export function indexProblem(manifest: TableManifest, name: string, reason: string): Problem {
  const segments = queryIndexes(manifest).get(name) ?? [];
  const column = columnPath(manifest, segments[0]?.fieldIds[0] ?? -1);
  return {
    subject: name,
    code: 'INDEX_NOT_EXTENDED',
    message: `The index ${name} on ${column} could not be extended: ${reason.slice(0, 300)}`,
    next: `Build it anew with its own parameters: table.createIndex(${JSON.stringify(column)}, { config: ..., name: ${JSON.stringify(name)}, replace: true }).`,
    disposition: 'permanent',
  };
}
