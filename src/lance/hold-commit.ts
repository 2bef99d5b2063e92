import { randomUUID } from 'node:crypto';
import { holdConflict, tableNotFound } from './errors.ts';
import { encodeHoldCommit, holdIn } from './hold.ts';
import type { TableManifest } from './manifest.ts';
import { readNewestManifest } from './newest.ts';
import type { ObjectStore } from './object-store.ts';
import { assertWritable } from './support.ts';

/** One to two seconds on a disk, half a minute on S3: as patient as LanceDB's own commits. */
const ATTEMPTS = 200;

export interface HoldRequest {
  /** Awaited right before each commit: renews the lease, and throws when it is lost. */
  readonly beforePut: () => Promise<void>;
  /** Epoch milliseconds; default the clock. */
  readonly now?: () => number;
}

/**
 * Holds every fragment of the table but those of `group`, in place of any hold that is there; an empty group holds them
 * all. Answers the newest manifest, which has the hold.
 * Throws `HOLD_CONFLICT` (contention) when a fragment of the group is gone or writers win every time.
 */
export function placeHold(store: ObjectStore, group: Iterable<number>, request: HoldRequest): Promise<TableManifest> {
  const free = new Set(group);
  const uuid = randomUUID();
  return commitHold(store, request, {
    uuid,
    isDone: (head) => holdIn(head)?.uuid === uuid,
    heldOver(head) {
      const present = head.fragments.map(({ id }) => id);
      const gone = [...free].find((id) => !present.includes(id));
      if (gone !== undefined) throw holdConflict(head.key, `fragment ${gone} was rewritten or deleted meanwhile`);
      return present.filter((id) => !free.has(id));
    },
  });
}

/** Takes every hold away; commits nothing when there is none. Answers the newest manifest. Throws `HOLD_CONFLICT` (contention). */
export function removeHold(store: ObjectStore, request: HoldRequest): Promise<TableManifest> {
  return commitHold(store, request, {
    uuid: randomUUID(),
    isDone: (head) => holdIn(head) === undefined,
    heldOver: () => undefined,
  });
}

interface WantedHold {
  /** Of the hold's index entry. */
  readonly uuid: string;
  readonly isDone: (head: TableManifest) => boolean;
  /** Ids of the fragments to hold; undefined for none, and no hold. */
  readonly heldOver: (head: TableManifest) => readonly number[] | undefined;
}

/**
 * Commits over the newest version until the head shows it. The check comes first each time, so that a lost answer, and a
 * cleanup that removed our version number from below a newer head, end the same way as any lost race.
 */
async function commitHold(store: ObjectStore, request: HoldRequest, wanted: WantedHold): Promise<TableManifest> {
  const createdAt = request.now?.() ?? Date.now();
  let transaction: { readonly uuid: string; readonly readVersion: number; readonly held: string } | undefined;
  for (let attempt = 0; attempt <= ATTEMPTS; attempt++) {
    let head = await requireHead(store);
    if (wanted.isDone(head)) return head;
    if (attempt === ATTEMPTS) break;
    await request.beforePut();
    head = await requireHead(store);
    if (wanted.isDone(head)) return head;
    const held = wanted.heldOver(head);
    const said = JSON.stringify(held ?? null);
    // A transaction serves every attempt that says the same: no orphan for each lost race.
    const reused = transaction?.held === said ? transaction : undefined;
    const named = reused ?? { uuid: randomUUID(), readVersion: head.version, held: said };
    const commit = encodeHoldCommit(head, {
      held,
      now: Math.max(request.now?.() ?? Date.now(), head.timestamp),
      createdAt,
      readVersion: named.readVersion,
      uuids: { transaction: named.uuid, index: wanted.uuid },
    });
    if (!reused) await store.putIfAbsent(commit.transactionKey, commit.transactionBytes);
    transaction = named;
    await store.putIfAbsent(commit.manifestKey, commit.manifestBytes);
  }
  throw holdConflict(store.uri, `other commits were first ${ATTEMPTS} times`);
}

async function requireHead(store: ObjectStore): Promise<TableManifest> {
  const head = await readNewestManifest(store);
  if (!head) throw tableNotFound(store.uri);
  assertWritable(head);
  return head;
}
