import { lastField, signed, text, textMap, unsigned, unsignedValue, type WireMessage } from './wire.ts';

const POSITION_KEY = 'lance-schema:unenforced-primary-key:position';
const FLAG_KEY = 'lance-schema:unenforced-primary-key';

export interface Field {
  readonly id: number;
  /** -1 for a column of the table; else the id of the struct or list it belongs to. */
  readonly parentId: number;
  readonly name: string;
  /** Lance's spelling: `string`, `int64`, `fixed_size_list:float:8`, ... */
  readonly logicalType: string;
  readonly nullable: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** 1-based place in the declared primary key; 0 when declared without one; undefined outside the key. */
  readonly primaryKeyPosition: number | undefined;
}

function primaryKeyPosition(message: WireMessage, metadata: Record<string, string>): number | undefined {
  const position = unsigned(message, 13);
  if (position > 0) return position;
  const declared = metadata[POSITION_KEY];
  if (declared !== undefined && /^\d{1,9}$/.test(declared)) return Number(declared);
  const flag = lastField(message, 12);
  const flagged = flag !== undefined && unsignedValue(message, flag) !== 0;
  return flagged || /^(true|1|yes)$/i.test(metadata[FLAG_KEY] ?? '') ? 0 : undefined;
}

export function decodeField(message: WireMessage): Field {
  const metadata = textMap(message, 10, 'Field.metadata');
  return {
    id: signed(message, 3),
    parentId: signed(message, 4),
    name: text(message, 2) ?? '',
    logicalType: text(message, 5) ?? '',
    nullable: unsigned(message, 6) !== 0,
    metadata,
    primaryKeyPosition: primaryKeyPosition(message, metadata),
  };
}
