import { unreadable } from './errors.ts';
import {
  lastField,
  nested,
  nestedAll,
  optionalUnsigned,
  signedList,
  text,
  unsigned,
  unsignedBits,
  type WireMessage,
} from './wire.ts';

export interface DataFile {
  /** Relative to `data/`. */
  readonly path: string;
  /** Undefined when the writer did not record it. */
  readonly bytes?: number;
  readonly fieldIds: readonly number[];
  /** Set when the file lies under another base path. */
  readonly baseId?: number;
}

export interface Fragment {
  readonly id: number;
  /** Includes deleted rows. */
  readonly physicalRows: number;
  readonly deletedRows: number;
  readonly liveRows: number;
  /** Sum over its data files; undefined if the size of any is unknown. */
  readonly bytes: number | undefined;
  readonly files: readonly DataFile[];
  /** Key under the table, `_deletions/{fragment}-{readVersion}-{id}.{arrow|bin}`. */
  readonly deletionFile?: string;
}

function decodeDataFile(message: WireMessage): DataFile {
  const bytes = unsigned(message, 6);
  const baseId = optionalUnsigned(message, 7);
  return {
    path: text(message, 1) ?? '',
    // 0 stands for "not recorded".
    ...(bytes > 0 && { bytes }),
    fieldIds: signedList(message, 2),
    ...(baseId !== undefined && { baseId }),
  };
}

function totalBytes(files: readonly DataFile[]): number | undefined {
  let sum = 0;
  for (const file of files) {
    if (file.bytes === undefined) return undefined;
    sum += file.bytes;
  }
  return sum;
}

export function decodeFragment(message: WireMessage): Fragment {
  const { source } = message;
  const id = unsigned(message, 1);
  const files = nestedAll(message, 2, 'DataFile').map(decodeDataFile);
  const physicalRows = unsigned(message, 4);
  const deletionField = lastField(message, 3);
  const deletion = deletionField && nested(message, deletionField, 'DeletionFile');
  const deletedRows = deletion ? unsigned(deletion, 4) : 0;
  if (deletion && deletedRows > physicalRows) {
    const expected = `fragment ${id} to have at most ${physicalRows} deleted rows, found ${deletedRows}`;
    throw unreadable(source.code, source.file, deletion.start, expected);
  }
  const fragment = {
    id,
    physicalRows,
    deletedRows,
    liveRows: physicalRows - deletedRows,
    bytes: totalBytes(files),
    files,
  };
  if (!deletion) return fragment;
  return { ...fragment, deletionFile: deletionKey(id, deletion) };
}

/** Key under the table. The id in the name is a random 64-bit number. */
export function deletionKey(fragmentId: number, deletion: WireMessage): string {
  const extension = unsigned(deletion, 1) === 0 ? 'arrow' : 'bin';
  return `_deletions/${fragmentId}-${unsigned(deletion, 2)}-${unsignedBits(deletion, 3)}.${extension}`;
}
