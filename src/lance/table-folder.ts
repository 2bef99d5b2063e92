/** What LanceDB has to be told to open a table. */
export interface TableName {
  readonly name: string;
  /** Of a directory namespace; empty for the database itself. */
  readonly namespace: readonly string[];
}

const PLAIN = /^(.+)\.lance$/;
/** How a directory namespace names the folder of a table: a hash, the path of the namespace and the name, joined by `$`. */
const NAMESPACED = /^[0-9a-f]{8}_(.+\$[^$]+)$/;
/** The table in which a directory namespace lists its tables. LanceDB opens no table of that name, so it cannot be maintained. */
export const NAMESPACE_MANIFEST = '__manifest';

/** The table that lies in a folder of this name; undefined when LanceDB finds none there. */
export function tableIn(folder: string): TableName | undefined {
  const plain = PLAIN.exec(folder)?.[1];
  if (plain !== undefined) return { name: plain, namespace: [] };
  const path = NAMESPACED.exec(folder)?.[1]?.split('$') ?? [];
  const name = path.at(-1);
  return name === undefined || path.includes('') ? undefined : { name, namespace: path.slice(0, -1) };
}
