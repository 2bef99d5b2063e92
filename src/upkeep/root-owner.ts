import { UpkeepError } from '../errors.ts';
import { rootOwned, rootOwnerUnreadable } from '../fleet/errors.ts';
import { OWN_FOLDER } from '../fleet/targets.ts';
import type { ObjectStore } from '../lance/object-store.ts';

/** The key of the marker in a root. */
export const OWNER_KEY = `${OWN_FOLDER}/owner.json`;

export interface RootOwner {
  /** The ledger's own id, made once with it. */
  readonly ledgerId: string;
  /** Where a person finds that ledger: a file, a table's ARN. */
  readonly ledger: string;
}

/**
 * Makes this ledger the owner of a root, or finds that it is. Two ledgers on one root would be two leases on one table.
 * @throws UpkeepError ROOT_OWNED when another ledger owns it, ROOT_OWNER_UNREADABLE (both permanent),
 *   ROOT_OWNER_MOVED (contention) when the marker came and went in between.
 */
export async function claimRoot(root: ObjectStore, owner: RootOwner, now: number): Promise<'claimed' | 'already ours'> {
  const marker = { schemaVersion: 1, ...owner, claimedAt: new Date(now).toISOString() };
  const outcome = await root.putIfAbsent(OWNER_KEY, new TextEncoder().encode(`${JSON.stringify(marker)}\n`));
  if (outcome === 'created') return 'claimed';
  const bytes = await root.get(OWNER_KEY);
  if (bytes === undefined) {
    throw new UpkeepError(`The owner marker of ${root.uri} was deleted just now.`, {
      code: 'ROOT_OWNER_MOVED',
      disposition: 'contention',
      next: 'Try again once the take-over is finished.',
    });
  }
  const foreign = foreignOwner(root.uri, bytes, owner.ledgerId);
  if (foreign) throw foreign;
  return 'already ours';
}

function parseMarker(root: string, bytes: Uint8Array): RootOwner & { claimedAt: string } {
  let marker: unknown;
  try {
    marker = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw rootOwnerUnreadable(root, 'it is not JSON');
  }
  const text = (name: string) => {
    const value = marker !== null && typeof marker === 'object' ? Reflect.get(marker, name) : undefined;
    if (typeof value !== 'string') throw rootOwnerUnreadable(root, `it has no ${name}`);
    return value;
  };
  return { ledgerId: text('ledgerId'), ledger: text('ledger'), claimedAt: text('claimedAt') };
}

/** Why a marker refuses this ledger; undefined when it is its own. Throws ROOT_OWNER_UNREADABLE (permanent). */
export function foreignOwner(root: string, marker: Uint8Array, ledgerId: string): UpkeepError | undefined {
  const found = parseMarker(root, marker);
  return found.ledgerId === ledgerId ? undefined : rootOwned(root, found);
}
