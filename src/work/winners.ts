/** A key as the key column holds it. Two keys are the same when they are `===`. */
export type Key = string | number | bigint;

/** One row of a generation, seen by the key-only pass. */
export interface KeyRow {
  readonly key: Key;
  readonly rowId: bigint;
  readonly tombstone: boolean;
}

/** Rows to take from one generation. */
export interface GenerationWinners {
  /** Row addresses in the generation, in scan order. */
  readonly rowIds: readonly bigint[];
  /** Live rows of the generation in all; when all of them win, they are read without picking. */
  readonly rows: number;
}

/**
 * Newest wins: add the generations of a shard from the oldest to the newest, each row in its order of insertion; the
 * last row of a key replaces every earlier one, and a tombstone replaces a row by nothing.
 */
export class WinnerSelection {
  readonly #last = new Map<Key, { generation: number; rowId: bigint; tombstone: boolean }>();
  readonly #rows: number[] = [];

  /** Starts the next generation; its number in the order of adding, from 0. */
  beginGeneration(): number {
    return this.#rows.push(0) - 1;
  }

  add(row: KeyRow): void {
    const generation = this.#rows.length - 1;
    this.#rows[generation] = (this.#rows[generation] ?? 0) + 1;
    this.#last.set(row.key, { generation, rowId: row.rowId, tombstone: row.tombstone });
  }

  /** Distinct keys seen. */
  get keys(): number {
    return this.#last.size;
  }

  /** Rows seen, older duplicates included. */
  get rows(): number {
    return this.#rows.reduce((sum, rows) => sum + rows, 0);
  }

  upsertKeys(): Key[] {
    return [...this.#last].filter(([, row]) => !row.tombstone).map(([key]) => key);
  }

  deletedKeys(): Key[] {
    return [...this.#last].filter(([, row]) => row.tombstone).map(([key]) => key);
  }

  /** One entry per generation, in the order they were added. */
  perGeneration(): GenerationWinners[] {
    const rowIds: bigint[][] = this.#rows.map(() => []);
    for (const row of this.#last.values()) {
      if (!row.tombstone) rowIds[row.generation]?.push(row.rowId);
    }
    return rowIds.map((ids, index) => ({
      rowIds: ids.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
      rows: this.#rows[index] ?? 0,
    }));
  }
}
