import { typedErrorIn } from '../errors.ts';
import { claimRoot } from '../fleet/root-owner.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { ledgerId } from '../tasks/ledger-id.ts';
import type { Ledger } from '../tasks/ports.ts';

export interface OwnedRootsOptions {
  readonly ledger: Ledger;
  /** Names the ledger for a person who meets the marker. */
  readonly ledgerName: string;
  readonly roots: readonly string[];
  readonly storageFor: (uri: string) => ObjectStore;
  readonly newId: () => string;
  readonly now: () => number;
}

/** The roots' owner markers, looked at as rarely as is safe. Errors: ROOT_OWNED, ROOT_OWNER_UNREADABLE. */
export interface OwnedRoots {
  /** Looks at every marker: what the sweep does, once for each process. */
  claim(): Promise<void>;
  /** Trusts what a sweep wrote to the ledger, so that a lane's function reads no marker before its table. */
  ensure(): Promise<void>;
}

export function createOwnedRoots(options: OwnedRootsOptions): OwnedRoots {
  const { ledger, roots, newId } = options;
  let claimed: Promise<void> | undefined;

  async function claimOne(root: string): Promise<void> {
    const key = keyOf(root);
    try {
      const owner = { ledgerId: await ledgerId(ledger, newId), ledger: options.ledgerName };
      await claimRoot(options.storageFor(root), owner, options.now());
    } catch (error) {
      // Taken over by another ledger: from now on the lanes have to stop, too.
      if (typedErrorIn(error)?.code === 'ROOT_OWNED') {
        await ledger.transact([{ kind: 'delete', key, when: [] }], { clientToken: newId() });
      }
      throw error;
    }
    const item = { ...key, attributes: { root } };
    await ledger.transact([{ kind: 'put', item, when: [] }], { clientToken: newId() });
  }

  async function claimAll(): Promise<void> {
    for (const root of roots) await claimOne(root);
  }

  /** Remembers a success only. */
  function once(work: () => Promise<void>): Promise<void> {
    claimed ??= work().catch((error: unknown) => {
      claimed = undefined;
      throw error;
    });
    return claimed;
  }

  return {
    claim: () => once(claimAll),
    ensure: () =>
      once(async () => {
        for (const root of roots) if (!(await ledger.get(keyOf(root)))) await claimOne(root);
      }),
  };
}

function keyOf(root: string) {
  return { pk: 'LEDGER', sk: `ROOT#${root}` } as const;
}
