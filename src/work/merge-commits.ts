import type { Table } from '@lancedb/lancedb';
import type { TableManifest } from '../lance/manifest.ts';
import { readNewestManifest } from '../lance/newest.ts';
import type { ArrowTable, Schema } from './arrow.ts';
import { buildKeyIndex } from './build-key-index.ts';
import { alignBatches } from './columns.ts';
import type { WorkContext, WorkDependencies } from './context.ts';
import { WorkError } from './errors.ts';
import type { Gate } from './gate.ts';
import { callLancedb, refresh } from './lancedb-errors.ts';
import { Upserts } from './merge-builder.ts';
import type { ShardSelection } from './merge-plan.ts';
import { readSlices, type Slice, type SliceBudget, sourcesOf } from './merge-slices.ts';
import { mergeStrategy } from './merge-strategy.ts';
import { keyPredicates } from './sql.ts';
import type { Key } from './winners.ts';

/** Deleted keys in one commit. */
const KEYS_PER_DELETE = 5000;

/** The commits of one merge. Each renews the lease and looks at the watermark first. */
export class MergeCommits {
  readonly #context: WorkContext;
  readonly #dependencies: WorkDependencies;
  readonly #gate: Gate;
  readonly #base: Table;
  readonly #upserts: Upserts;
  readonly #schema: Schema;
  readonly #selections: readonly ShardSelection[];
  /** The versions of the commits, in their order. */
  readonly versions = new Set<number>();
  rowsInserted = 0;
  rowsUpdated = 0;
  indexBuilt = false;

  constructor(
    context: WorkContext,
    dependencies: WorkDependencies,
    gate: Gate,
    base: Table,
    schema: Schema,
    selections: readonly ShardSelection[],
  ) {
    this.#context = context;
    this.#dependencies = dependencies;
    this.#gate = gate;
    this.#base = base;
    this.#upserts = new Upserts(base, gate.keyColumn);
    this.#schema = schema;
    this.#selections = selections;
  }

  /** Upserts a slice; one that does not fit LanceDB's memory goes in halves, and what comes after it is no larger. */
  async upsert(slice: Slice, budget: SliceBudget): Promise<void> {
    this.#context.signal.throwIfAborted();
    try {
      for (const rows of alignBatches(this.#schema, slice.batches.splice(0))) await this.#upsertTable(rows);
    } catch (error) {
      const sources = isExhausted(error) ? sourcesOf(slice) : undefined;
      if (!sources) throw error;
      budget.shrinkBelow(slice.bytes);
      for await (const smaller of readSlices(sources, budget)) await this.upsert(smaller, budget);
    }
  }

  async #upsertTable(rows: ArrowTable): Promise<void> {
    await this.#context.fence();
    let strategy = mergeStrategy(await this.#assertWatermarkUnmoved(), this.#dependencies.settings.indexBeforeMerge);
    if (strategy === 'rebuild') {
      this.#context.progress(`building the BTree on ${this.#gate.keyColumn} over the merged rows`);
      await buildKeyIndex(this.#context, this.#dependencies, this.#gate);
      await refresh(this.#base);
      this.indexBuilt = true;
      await this.#context.fence();
      await this.#assertWatermarkUnmoved();
      strategy = 'index';
    }
    const options = { useIndex: strategy === 'index', timeoutMs: this.#timeoutMs() };
    const result = await this.#commit('merging rows into the base table', () => this.#upserts.execute(rows, options));
    this.rowsInserted += result.numInsertedRows;
    this.rowsUpdated += result.numUpdatedRows;
    this.versions.add(result.version);
  }

  async delete(keys: readonly Key[]): Promise<void> {
    for (const predicate of keyPredicates(this.#gate.keyColumn, keys, KEYS_PER_DELETE)) {
      await this.#context.fence();
      await this.#assertWatermarkUnmoved();
      const result = await this.#commit('deleting tombstoned keys', () => this.#base.delete(predicate));
      this.versions.add(result.version);
    }
  }

  #commit<T>(during: string, run: () => Promise<T>): Promise<T> {
    return callLancedb(during, () => this.#context.native(run));
  }

  #timeoutMs(): number {
    return Math.max(1000, Math.min(this.#context.remainingMs(), 10 * 60_000));
  }

  /** With a BTree Lance itself does not stop two mergers from inserting one key twice, so a moved watermark stops us. */
  async #assertWatermarkUnmoved(): Promise<TableManifest> {
    const head = await readNewestManifest(this.#dependencies.storageFor(this.#context.target));
    for (const selection of this.#selections) {
      const now = head?.memWal?.compacted.get(selection.shardId) ?? 0;
      if (head?.memWal && now === selection.watermark) continue;
      throw watermarkMoved(selection, now);
    }
    if (!head) throw new WorkError('WATERMARK_MOVED', 'The table is gone.', { disposition: 'contention' });
    return head;
  }
}

function isExhausted(error: unknown): boolean {
  return error instanceof WorkError && error.code === 'MEMORY_EXHAUSTED';
}

function watermarkMoved({ shardId, watermark }: ShardSelection, now: number): WorkError {
  return new WorkError(
    'WATERMARK_MOVED',
    `Shard ${shardId} was at generation ${watermark} when this merge was planned and is at ${now} now.`,
    { disposition: 'contention', next: 'Nothing to do: the task is planned again.' },
  );
}
