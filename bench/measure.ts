import { connect } from '@lancedb/lancedb';
import { loadSettings } from '../src/config.ts';
import { indexCoverage } from '../src/lance/index-coverage.ts';
import type { TableManifest } from '../src/lance/manifest.ts';
import { readManifestAt, readNewestManifest } from '../src/lance/newest.ts';
import { planPass } from '../src/lance/rewrite-prediction.ts';
import { listShards, readNewestShardManifest } from '../src/lance/shards.ts';
import { createFileObjectStore } from '../src/storage/file-object-store.ts';
import type { WorkResult } from '../src/tasks/task.ts';
import { compact } from '../src/work/compact.ts';
import type { WorkContext, WorkDependencies } from '../src/work/context.ts';
import { createLancedb } from '../src/work/lancedb.ts';
import { mergeWal } from '../src/work/merge-wal.ts';
import { optimizeIndices } from '../src/work/optimize-indices.ts';
import { watchWriting } from './bytes-written.ts';
import { peakMemory } from './peak-memory.ts';
import { benchRows, type KeyOrder, rowsOfRound } from './tables.ts';

/** One measurement, in a process of its own; prints a `Measured` as JSON. Run by bench/child.ts. */
const [name, target = '', ...words] = process.argv.slice(2);
const settings = loadSettings(process.env);
const dependencies: WorkDependencies = {
  storageFor: createFileObjectStore,
  lancedb: createLancedb({ sliceBytes: settings.mergeSliceBytes }),
  settings,
  now: Date.now,
};
const context: WorkContext = {
  target,
  signal: new AbortController().signal,
  remainingMs: () => Number.POSITIVE_INFINITY,
  fence: async () => undefined,
  baseVersion: async (current) => current,
  native: (run) => run(),
  progress: () => undefined,
};
const timesMs: number[] = [];
const facts: Record<string, number> = {};

async function timed<T>(run: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const value = await run();
  timesMs.push(performance.now() - start);
  return value;
}

function openTable() {
  const cut = target.lastIndexOf('/');
  return connect(target.slice(0, cut)).then((db) => db.openTable(target.slice(cut + 1).replace('.lance', '')));
}

async function head() {
  const manifest = await readNewestManifest(createFileObjectStore(target));
  if (!manifest) throw new Error(`no table at ${target}`);
  return manifest;
}

function indexBytes(manifest: TableManifest): number {
  return indexCoverage(manifest).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Rewrites since a version, and the bytes that they may have cost: the data of each group and all indexes once for each. */
async function rewritesSince(from: TableManifest): Promise<{ commits: number; allowed: number }> {
  const newest = await head();
  const sum = { commits: 0, allowed: 0 };
  let before = from;
  for (let version = from.version + 1; version <= newest.version; version += 1) {
    const after = await readManifestAt(createFileObjectStore(target), version);
    if (!after) throw new Error(`version ${version} is gone`);
    if (after.transaction?.operation === 'Rewrite') {
      const left = new Set(after.fragments.map(({ id }) => id));
      const group = before.fragments.filter(({ id }) => !left.has(id));
      sum.commits += 1;
      sum.allowed += group.reduce((bytes, fragment) => bytes + (fragment.bytes ?? 0), 0) + indexBytes(after);
    }
    before = after;
  }
  return sum;
}

const measurements: Record<string, () => Promise<void>> = {
  /** Passes of one generation each, until nothing waits. */
  async 'merge-ours'() {
    for (let more = true; more; ) {
      const result = await timed(() => mergeWal(context, dependencies));
      more = result.followUp !== undefined;
    }
  },
  /** The same rows by LanceDB alone, with the join over the whole table. Words: rows, rounds, key order. */
  async 'merge-plain'() {
    const [rows, rounds] = words.map(Number) as [number, number];
    const order = words[2] as KeyOrder;
    for (let round = 1; round <= rounds; round += 1) {
      const data = benchRows(rowsOfRound(order, rows, round), round, order);
      const table = await openTable();
      const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll();
      await timed(() => merge.useLsm(false).useIndex(false).execute(data));
      table.close();
    }
  },
  async 'drain-ours'() {
    const before = (await head()).version;
    let result: WorkResult | undefined;
    await timed(async () => {
      do result = await mergeWal(context, dependencies);
      while (result.followUp);
    });
    facts.commits = (await head()).version - before;
    facts.rows = (await head()).liveRows;
  },
  /** What a script without this product would do: each generation opened, read and merged by itself. */
  async 'drain-plain'() {
    const table = createFileObjectStore(target);
    const [shardId] = await listShards(table);
    const shard = await readNewestShardManifest(table, shardId ?? '');
    const scratch = await connect(`${target}.scratch`);
    const before = (await head()).version;
    await timed(async () => {
      const table = await openTable();
      for (const generation of shard?.generations ?? []) {
        const clone = await scratch.cloneTable(
          `g${generation.generation}`,
          `${target}/_mem_wal/${shardId}/${generation.path}`,
        );
        const rows = await clone.query().select(['id', 'payload']).toArrow();
        await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().useLsm(false).execute(rows);
        clone.close();
      }
      table.close();
    });
    facts.commits = (await head()).version - before;
    facts.rows = (await head()).liveRows;
  },
  /** Passes until the fragments that a pass would rewrite are fewer than MIN_FRAGMENTS. */
  async 'compact-ours'() {
    const before = await head();
    facts.fragmentsBefore = before.fragments.length;
    facts.bytes = before.dataBytes;
    facts.bytesWritten = 0;
    facts.passes = 0;
    for (;;) {
      if (planPass(await head(), settings).fragments < settings.minFragments) break;
      const result = await timed(() => compact(context, dependencies));
      facts.bytesWritten += result.compaction?.bytesWritten ?? 0;
      facts.passes += 1;
      facts[result.compaction?.strategy ?? 'none'] = 1;
    }
    facts.fragmentsAfter = (await head()).fragments.length;
  },
  /** The same, with everything that was written: files of data, deletions, indexes, manifests and transactions. */
  async 'compact-groups'() {
    const before = await head();
    const written = await watchWriting(target);
    facts.bytes = before.dataBytes;
    while (planPass(await head(), settings).fragments >= settings.minFragments) {
      await timed(() => compact(context, dependencies));
    }
    Object.assign(facts, await written());
    const after = await head();
    facts.fragmentsAfter = after.fragments.length;
    Object.assign(facts, await rewritesSince(before));
    facts.outside = indexCoverage(after).reduce((sum, { rowsOutside }) => sum + rowsOutside, 0);
    if (facts.outside > 0) throw new Error('an index lost rows');
  },
  async 'extend-indexes'() {
    const worst = (manifest: TableManifest) =>
      Math.max(...indexCoverage(manifest).map(({ rowsOutside }) => rowsOutside));
    const before = await head();
    const written = await watchWriting(target);
    await timed(() => optimizeIndices(context, dependencies));
    Object.assign(facts, await written());
    const after = await head();
    facts.bytes = before.dataBytes;
    facts.rowsOutside = worst(before);
    facts.rowsOutsideAfter = worst(after);
    facts.allowed = indexBytes(after);
  },
  /** The process with everything loaded and nothing done: what the other peaks start from. */
  async idle() {
    (await openTable()).close();
    timesMs.push(0);
  },
};

const measurement = measurements[name ?? ''];
if (!measurement) throw new Error(`no measurement ${name}`);
await measurement();
const peakBytes = peakMemory();
process.stdout.write(JSON.stringify({ timesMs, peakBytes, facts }));
