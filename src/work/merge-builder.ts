import type { MergeResult, Table } from '@lancedb/lancedb';
import { type ArrowTable, arrow } from './arrow.ts';

/** The part of LanceDB's native merge builder that is used here. Every method but the last two answers a new builder. */
interface NativeMerge {
  whenMatchedUpdateAll(): NativeMerge;
  whenNotMatchedInsertAll(): NativeMerge;
  useLsm(enable: boolean): NativeMerge;
  useIndex(enable: boolean): NativeMerge;
  setTimeout(milliseconds: number): void;
  execute(ipcFile: Buffer): Promise<MergeResult>;
}

export interface UpsertOptions {
  readonly useIndex: boolean;
  readonly timeoutMs: number;
}

/**
 * Upserts rows as they are, below LanceDB's JavaScript: that would compute vectors which the writer left null, in a table
 * with embedding functions, and copies all rows twice more. The bytes for LanceDB are kept in one buffer that is used
 * again: freed one by one, buffers of this size leave the allocator's heap in pieces that grow with every commit.
 */
export class Upserts {
  readonly #table: Table;
  readonly #keyColumn: string;
  #buffer = Buffer.alloc(0);

  constructor(table: Table, keyColumn: string) {
    this.#table = table;
    this.#keyColumn = keyColumn;
  }

  async execute(rows: ArrowTable, { useIndex, timeoutMs }: UpsertOptions): Promise<MergeResult> {
    const inner = Reflect.get(this.#table, 'inner') as { mergeInsert(on: string[]): NativeMerge };
    const merge = inner
      .mergeInsert([this.#keyColumn])
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .useLsm(false)
      .useIndex(useIndex);
    merge.setTimeout(timeoutMs);
    return merge.execute(await this.#serialize(rows));
  }

  async #serialize(rows: ArrowTable): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of arrow.RecordBatchFileWriter.writeAll(rows)) chunks.push(chunk);
    const size = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    if (this.#buffer.byteLength < size) this.#buffer = Buffer.alloc(Math.ceil(size * 1.25));
    let at = 0;
    for (const chunk of chunks) {
      this.#buffer.set(chunk, at);
      at += chunk.byteLength;
    }
    return this.#buffer.subarray(0, size);
  }
}
