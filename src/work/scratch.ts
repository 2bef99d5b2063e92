import { createHash, randomUUID } from 'node:crypto';
import type { Connection, Table } from '@lancedb/lancedb';
import { databaseUri, type Lancedb } from './lancedb.ts';
import { callLancedb } from './lancedb-errors.ts';

/**
 * Shallow clones of generations: LanceDB can open a generation only through a clone, which has to stand on the same
 * object store as its source. One scratch database per target, below the target's own database directory.
 */
export class ScratchDatabase {
  readonly #connection: Connection;
  readonly #clones = new Map<string, Table>();

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Opens the scratch of a target and drops what a killed predecessor left there. Only the lease holder may. */
  static async open(lancedb: Lancedb, target: string): Promise<ScratchDatabase> {
    return callLancedb('opening the scratch database', async () => {
      const connection = await lancedb.connect(scratchUri(target));
      for (const name of await connection.tableNames()) await connection.dropTable(name);
      return new ScratchDatabase(connection);
    });
  }

  /** A clone of the dataset at `sourceUri`, good until `close`. The source is never touched. */
  async clone(sourceUri: string): Promise<Table> {
    const name = `generation-${randomUUID()}`;
    const clone = await callLancedb(`opening ${sourceUri}`, () =>
      this.#connection.cloneTable(name, sourceUri, { isShallow: true }),
    );
    this.#clones.set(name, clone);
    return clone;
  }

  /** Drops every clone that is still there: the next lease holder may have dropped them already. */
  async close(): Promise<void> {
    await callLancedb('emptying the scratch database', async () => {
      const present = new Set(await this.#connection.tableNames());
      for (const [name, clone] of this.#clones) {
        clone.close();
        if (present.has(name)) await this.#connection.dropTable(name);
      }
    });
    this.#clones.clear();
    this.#connection.close();
  }
}

/** `<database>/_lance_upkeep/scratch/<digest of the target>`; discovery never looks in there. */
export function scratchUri(target: string): string {
  return `${databaseUri(target)}/${upkeepFolder(target, 'scratch')}`;
}

/** Where something of ours about one table lies, below the directory of its database. */
export function upkeepFolder(target: string, area: 'scratch' | 'prune'): string {
  const digest = createHash('sha256').update(target).digest('hex').slice(0, 16);
  return `_lance_upkeep/${area}/${digest}`;
}
