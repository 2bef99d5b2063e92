import type { Field, TableManifest } from '../lance/manifest.ts';
import { WorkError, type WorkErrorCode } from './errors.ts';

const SCALAR =
  'null|bool|u?int(8|16|32|64)|halffloat|float|double|string|binary|large_string|large_binary|fixed_size_binary:\\d+' +
  '|date32:day|date64:ms|time32:\\w+|time64:\\w+|timestamp:\\w+:.*|duration:\\w+|decimal:\\d+:\\d+:-?\\d+';

/** The column that a generation has besides those of the base table: true marks a deleted key. */
export const TOMBSTONE_COLUMN = '_tombstone';

/** Lance's names of the types that come out of a merge byte for byte: each stands in a test. All others are refused. */
const MERGED = new RegExp(
  `^(${SCALAR}|struct|list|list\\.struct|map|fixed_size_list:(${SCALAR}|struct):\\d+|dict:(string|large_string|binary|large_binary|u?int(8|16|32|64)):u?int(8|16|32|64):(true|false))$`,
);

/** Extension types whose values LanceDB hands out in another form than it takes. Any other is merged as its storage. */
const CONVERTED = /^(lance\.json|arrow\.json|lance\.blob\..*)$/;

/** Arrow's decoder of names strips this character from the front. */
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Everything that the manifest alone tells against a merge, before anything is opened or written. Throws
 * TYPE_UNSUPPORTED, COLUMN_NAME_UNSUPPORTED, TOMBSTONE_COLUMN_TAKEN; all permanent.
 */
export function assertMergeable(manifest: TableManifest, keyColumn: string): void {
  for (const field of manifest.fields) {
    const path = pathOf(manifest, field);
    if (field.name.startsWith(BYTE_ORDER_MARK)) {
      throw refused(
        'COLUMN_NAME_UNSUPPORTED',
        `The name of the column "\\ufeff${field.name.slice(1)}" begins with an invisible byte order mark (U+FEFF), under which Arrow cannot find it.`,
        'Rename the column without the mark (alterColumns), then send MergeWal again.',
      );
    }
    const extension = field.metadata['ARROW:extension:name'] ?? '';
    const blob = field.logicalType.startsWith('blob') || field.metadata['lance-encoding:blob'] === 'true';
    if (!blob && !CONVERTED.test(extension) && MERGED.test(field.logicalType)) continue;
    const type = blob ? 'a blob' : CONVERTED.test(extension) ? extension : field.logicalType;
    throw refused(
      'TYPE_UNSUPPORTED',
      `The column "${path}" is ${type}, which cannot pass through the merge unchanged.`,
      'Keep such values in a string or binary column, or write this table without the MemWAL. Nothing was written.',
    );
  }
  if (keyColumn.includes('"')) {
    throw refused(
      'COLUMN_NAME_UNSUPPORTED',
      `The key column ${keyColumn} has a double quote in its name, which LanceDB's mergeInsert cannot parse.`,
      'Rename the column (alterColumns), then send MergeWal again. Nothing was written.',
    );
  }
  const taken = manifest.fields.find((field) => field.parentId < 0 && field.name === TOMBSTONE_COLUMN);
  if (taken) throw tombstoneTaken('The base table');
}

/**
 * Throws TOMBSTONE_COLUMN_TAKEN when the tombstones of a generation are a column of the user's own, renamed in the base
 * since: the field id tells. The format's column may not be null, so a column that the base got later, under the id that
 * the format's has here, is no such case.
 */
export function assertOwnTombstones(base: TableManifest, generation: TableManifest, where: string): void {
  const tombstones = generation.fields.find((field) => field.parentId < 0 && field.name === TOMBSTONE_COLUMN);
  const mine = tombstones && base.fields.find((field) => field.id === tombstones.id);
  if (!mine || mine.logicalType !== tombstones.logicalType || mine.nullable !== tombstones.nullable) return;
  throw tombstoneTaken(where);
}

function tombstoneTaken(where: string): WorkError {
  return refused(
    'TOMBSTONE_COLUMN_TAKEN',
    `${where} has a column ${TOMBSTONE_COLUMN} of its own. The MemWAL marks deleted rows under that name, so LanceDB takes its values for deletions.`,
    'Rename the column (alterColumns) and write the waiting rows again into a table whose MemWAL was set up afterwards. Nothing was written.',
  );
}

function pathOf(manifest: TableManifest, field: Field): string {
  const parent = manifest.fields.find(({ id }) => id === field.parentId);
  return parent ? `${pathOf(manifest, parent)}.${field.name}` : field.name;
}

function refused(code: WorkErrorCode, message: string, next: string): WorkError {
  return new WorkError(code, message, { disposition: 'permanent', next });
}
