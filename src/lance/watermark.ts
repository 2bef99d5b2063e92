import { randomUUID } from 'node:crypto';
import { tableNotFound, unsupported, watermarkConflict } from './errors.ts';
import { MEM_WAL_INDEX } from './index-section.ts';
import { coverageOf, logicalIndexes } from './key-index.ts';
import type { Progress, TableManifest } from './manifest.ts';
import { readManifestAt, readNewestManifest } from './newest.ts';
import type { ObjectStore } from './object-store.ts';
import { assertWritable } from './support.ts';
import { encodeWatermarkCommit, type WatermarkCommit } from './watermark-commit.ts';

export type { WatermarkChange, WatermarkCommit } from './watermark-commit.ts';
export { encodeWatermarkCommit } from './watermark-commit.ts';

/** One to two seconds on a disk, half a minute on S3: as patient as LanceDB's own commits. */
const ATTEMPTS = 200;
/** After one of these the head no longer follows from the merge commit. */
const REWINDS = new Set(['Restore', 'Overwrite', 'Clone', 'Unknown']);

export interface WatermarkRequest {
  /** Highest merged generation by shard id; empty to record catch-up alone. */
  readonly watermarks: Progress;
  /** Also record, for each index that leaves no row unindexed, that it has caught up. */
  readonly catchUpWhenIndexed: boolean;
  /**
   * The version of the merge commit. A restore or overwrite since then took the merged rows away, so the watermark must
   * not be written. Default: the head when the call starts.
   */
  readonly mergedAt?: number;
  /** Awaited right before each commit: renews the lease, and throws when it is lost. */
  readonly beforePut: () => Promise<void>;
  readonly signal: AbortSignal;
  /** Epoch milliseconds; default the clock. */
  readonly now?: () => number;
}

export interface WatermarkResult {
  /** The version that holds the watermark: ours, or the head that had it already. */
  readonly version: number;
  /** Puts that were tried; 0 when it was there already. */
  readonly attempts: number;
  readonly already: boolean;
}

interface Gain {
  readonly watermarks: Map<string, number>;
  readonly catchUp: Map<string, Progress>;
}

function above(wanted: Progress, present: Progress | undefined): Map<string, number> {
  return new Map([...wanted].filter(([shardId, generation]) => generation > (present?.get(shardId) ?? 0)));
}

/** What a commit over `head` would add; undefined when it would add nothing. */
function gainOver(head: TableManifest, request: WatermarkRequest): Gain | undefined {
  if (!head.memWal) throw unsupported(head.key, 'has no LSM write spec any more', `an index entry ${MEM_WAL_INDEX}`);
  const watermarks = above(request.watermarks, head.memWal.compacted);
  const merged = new Map([...head.memWal.compacted, ...watermarks]);
  const catchUp = new Map<string, Progress>();
  if (request.catchUpWhenIndexed && merged.size > 0) {
    for (const [name, segments] of logicalIndexes(head)) {
      if (name.startsWith('__lance_') || coverageOf(head, segments).unindexedRows > 0) continue;
      const raised = above(merged, head.memWal.catchUp.get(name));
      if (raised.size > 0) catchUp.set(name, raised);
    }
  }
  return watermarks.size > 0 || catchUp.size > 0 ? { watermarks, catchUp } : undefined;
}

/** Throws `WATERMARK_CONFLICT` unless every commit in `(from, to]` is there to be seen and none rewinds the table. */
async function assertDescends(
  store: ObjectStore,
  from: number,
  to: TableManifest,
  ours: ReadonlySet<string>,
): Promise<void> {
  if (to.version < from) {
    throw watermarkConflict(to.key, `the head is version ${to.version}, before the merge at ${from}`, { from });
  }
  for (let version = from + 1; version <= to.version; version++) {
    const manifest = version === to.version ? to : await readManifestAt(store, version);
    const transaction = manifest?.transaction;
    // A commit of ours that is not in the head's history only fills the place of the one that a cleanup removed.
    const orphan = version !== to.version && transaction !== undefined && ours.has(transaction.uuid);
    if (!transaction || orphan) {
      throw watermarkConflict(to.key, `version ${version} is gone or names no transaction, so it cannot be checked`, {
        from,
        version,
      });
    }
    if (REWINDS.has(transaction.operation)) {
      const why = `version ${version} (${transaction.operation}) does not follow from the merge at ${from}`;
      throw watermarkConflict(to.key, why, { from, version, operation: transaction.operation });
    }
  }
}

async function requireHead(store: ObjectStore): Promise<TableManifest> {
  const head = await readNewestManifest(store);
  if (!head) throw tableNotFound(store.uri);
  assertWritable(head);
  return head;
}

/** True when the manifest at the commit's key is ours, whatever the put answered: a response can get lost. */
async function landed(store: ObjectStore, commit: WatermarkCommit, uuid: string): Promise<boolean> {
  if ((await store.putIfAbsent(commit.manifestKey, commit.manifestBytes)) === 'created') return true;
  return (await readManifestAt(store, commit.version))?.transaction?.uuid === uuid;
}

/** A transaction that is written once and serves every attempt, as long as the same watermarks have to be raised. */
interface Transaction {
  readonly uuid: string;
  readonly readVersion: number;
  readonly watermarks: Progress;
  readonly key: string;
}

function serves(transaction: Transaction | undefined, gain: Gain): transaction is Transaction {
  if (transaction?.watermarks.size !== gain.watermarks.size) return false;
  return [...gain.watermarks].every(([shardId, generation]) => transaction.watermarks.get(shardId) === generation);
}

/**
 * Commits the watermark over the newest version, redoes it when another commit was first, and makes sure that the head
 * has it in the end. Safe to repeat; commits nothing when the head has it.
 *
 * ```
 * head has it? ── beforePut ── put transaction ── read head v ── put manifest v+1 ── read head: ours in it? ── done
 *   ^                           (once)              └─ short: others race ─┘               │ no
 *   └──────────────────────────── exists: lost the race ──────────────── history still ours? ┘
 * ```
 * Throws `WATERMARK_CONFLICT` (contention) when the table was restored or overwritten since the merge, when its history
 * can no longer be checked, or when the race is lost too often; `MANIFEST_UNSUPPORTED` without an LSM write spec.
 */
export async function commitWatermark(store: ObjectStore, request: WatermarkRequest): Promise<WatermarkResult> {
  const ours = new Set<string>();
  let head = await requireHead(store);
  let checked = request.mergedAt ?? head.version;
  let attempts = 0;
  let transaction: Transaction | undefined;

  function encode(gain: Gain, { uuid, readVersion }: Pick<Transaction, 'uuid' | 'readVersion'>): WatermarkCommit {
    return encodeWatermarkCommit(head, {
      ...gain,
      readVersion,
      now: Math.max(request.now?.() ?? Date.now(), head.timestamp),
      uuids: { transaction: uuid, index: randomUUID() },
    });
  }

  async function newTransaction(gain: Gain): Promise<Transaction> {
    if (transaction) await store.delete(transaction.key);
    const named = { uuid: randomUUID(), readVersion: head.version };
    const { transactionKey: key, transactionBytes } = encode(gain, named);
    await store.putIfAbsent(key, transactionBytes);
    return { ...named, watermarks: gain.watermarks, key };
  }

  async function assertDescent(): Promise<void> {
    await assertDescends(store, checked, head, ours);
    checked = head.version;
  }

  for (let gain = gainOver(head, request); gain; gain = gainOver(head, request)) {
    await assertDescent();
    if (attempts === ATTEMPTS) {
      throw watermarkConflict(head.key, `other commits were first ${ATTEMPTS} times`, { attempts });
    }
    await request.beforePut();
    request.signal.throwIfAborted();
    if (!serves(transaction, gain)) transaction = await newTransaction(gain);
    // Once more, since all of the above took time, and each millisecond between here and the put may lose the race.
    head = await requireHead(store);
    const latest = gainOver(head, request);
    if (!latest || !serves(transaction, latest)) continue;
    await assertDescent();
    attempts++;
    const { uuid } = transaction;
    const commit = encode(latest, transaction);
    if (await landed(store, commit, uuid)) {
      ours.add(uuid);
      transaction = undefined;
      const newest = await requireHead(store);
      if (newest.transaction?.uuid === uuid) return { version: commit.version, attempts, already: false };
      head = newest;
    } else {
      head = await requireHead(store);
    }
  }
  if (transaction) await store.delete(transaction.key);
  return { version: head.version, attempts, already: attempts === 0 };
}
