import { basename, dirname } from 'node:path/posix';
import type { Connection, Session, Table } from '@lancedb/lancedb';
import { type TableName, tableIn } from '../lance/table-folder.ts';
import { lancedbError } from './lancedb-errors.ts';

export interface LancedbOptions {
  /** Passed to LanceDB for object tables; empty for a local disk. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** Index and metadata caches of the whole process, in bytes. LanceDB's own defaults are 6 GB and 1 GB. */
  readonly indexCacheBytes?: number;
  readonly metadataCacheBytes?: number;
  /** Bytes of rows in one merge commit: the memory pool of LanceDB's queries is made to hold several. */
  readonly sliceBytes?: number;
}

/** What LanceDB takes by itself. */
const LEAST_POOL_BYTES = 150 * 1024 * 1024;

/** The pool is shared by all that runs in the process. */
const SLICES_IN_POOL = 8;

/** LanceDB as the work uses it: a fresh handle for each task, and scratch databases for shallow clones. */
export interface Lancedb {
  /** Opens a table by its canonical URI. A handle plans from the version it has cached, so none is reused. */
  openTable(target: string): Promise<Table>;
  /** Connects to a database directory; made when it does not exist. */
  connect(databaseUri: string): Promise<Connection>;
}

export function createLancedb(options: LancedbOptions = {}): Lancedb {
  let session: Session | undefined;
  // The native library is 200 MB: it is loaded by the first call, so a task that the manifest already answers never pays.
  const connectTo = async (uri: string): Promise<Connection> => {
    // LanceDB logs an error for every MemWAL index it meets, since that has no fields: noise, unless asked for.
    process.env.LANCEDB_LOG ??= 'warn,lance::index=off';
    // Read by LanceDB with the first query, once for the whole process.
    process.env.LANCE_MEM_POOL_SIZE ??= String(
      Math.max(LEAST_POOL_BYTES, SLICES_IN_POOL * (options.sliceBytes ?? 8 * 1024 * 1024)),
    );
    const { connect, Session } = await import('@lancedb/lancedb');
    session ??= new Session(
      BigInt(options.indexCacheBytes ?? 256 * 1024 * 1024),
      BigInt(options.metadataCacheBytes ?? 128 * 1024 * 1024),
    );
    return connect(uri, options.storageOptions ? { storageOptions: { ...options.storageOptions } } : {}, session);
  };
  return {
    connect: connectTo,
    async openTable(target) {
      try {
        const database = await connectTo(databaseUri(target));
        const { name, namespace } = tableName(target);
        return await database.openTable(name, [...namespace]);
      } catch (error) {
        throw lancedbError(error, `opening ${target}`);
      }
    },
  };
}

/** The database directory of a table's URI. */
export function databaseUri(target: string): string {
  if (!target.includes('://')) return dirname(target);
  return target.slice(0, target.lastIndexOf('/'));
}

/** `sessions` for `/data/db/sessions.lance`, `events` in `team` for `/data/db/9a494c68_team$events`. */
export function tableName(target: string): TableName {
  const folder = basename(target);
  return tableIn(folder) ?? { name: folder, namespace: [] };
}
