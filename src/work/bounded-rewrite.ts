import type { Table } from '@lancedb/lancedb';
import type { Field, TableManifest } from '../lance/manifest.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import { lancedbError } from './lancedb-errors.ts';
import { sqlName } from './sql.ts';

/** Types whose no-op assignment is exact and cheap. */
const SCALAR = /^(u?int(8|16|32|64)|float|double|string|large_string|bool)$/;
/** Seconds of a rewrite are unknown before the first; below this the next one is not begun. */
const TIME_FOR_ONE_GROUP_MS = 15_000;

/**
 * Rewrites each group of neighbouring fragments into one, by a native no-op update over their row addresses: one
 * ordinary commit a group with Lance's own conflict check, and no payload passes through JavaScript.
 * @returns how many groups were left for want of time.
 */
export async function boundedRewrite(
  context: WorkContext,
  dependencies: WorkDependencies,
  manifest: TableManifest,
  groups: readonly (readonly number[])[],
): Promise<number> {
  const column = rewriteColumn(manifest.fields);
  const table = await dependencies.lancedb.openTable(context.target);
  try {
    for (const [done, group] of groups.entries()) {
      context.signal.throwIfAborted();
      if (done > 0 && context.remainingMs() < TIME_FOR_ONE_GROUP_MS) return groups.length - done;
      await context.fence();
      await rewriteGroup(context, table, column, group);
      context.progress(`rewrote group ${done + 1} of ${groups.length}`);
    }
    return 0;
  } finally {
    table.close();
  }
}

async function rewriteGroup(context: WorkContext, table: Table, column: string, group: readonly number[]) {
  const where = group.map(addressRange).join(' OR ');
  try {
    await context.native(() => table.update({ where, valuesSql: { [column]: sqlName(column) } }));
  } catch (error) {
    throw lancedbError(error, `rewriting fragments ${group[0]} to ${group.at(-1)}`);
  }
}

/** A row's address is its fragment id in the upper 32 bits; stable row ids are refused before we come here. */
function addressRange(fragmentId: number): string {
  const start = BigInt(fragmentId) << 32n;
  return `(_rowid >= ${start} AND _rowid < ${start + (1n << 32n)})`;
}

function rewriteColumn(fields: readonly Field[]): string {
  const usable = fields.filter((field) => field.parentId < 0 && SCALAR.test(field.logicalType));
  const plain = usable.find((field) => /^[a-z_][a-z0-9_]*$/.test(field.name)) ?? usable[0];
  if (plain) return plain.name;
  throw new WorkError('TYPE_UNSUPPORTED', 'The table has no string, number or bool column to rewrite fragments by.', {
    disposition: 'permanent',
    next: 'Raise COMPACT_MAX_BYTES so that optimize() can take the table as a whole.',
  });
}
