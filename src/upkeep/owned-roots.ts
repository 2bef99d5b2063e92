import { errorRecord } from '../errors.ts';
import type { Discovery } from '../fleet/discover.ts';
import { isForeignRoot } from '../fleet/errors.ts';
import type { ObjectStore } from '../lance/object-store.ts';
import { ledgerId } from '../tasks/ledger-id.ts';
import type { Ledger } from '../tasks/ports.ts';
import { createRootOwnership } from './root-ownership.ts';

export interface OwnedRootsOptions {
  readonly ledger: Ledger;
  /** Names the ledger for a person who meets the marker. */
  readonly ledgerName: string;
  readonly roots: readonly string[];
  readonly storageFor: (uri: string) => ObjectStore;
  readonly newId: () => string;
  readonly now: () => number;
}

/** That the roots are this stack's alone, as its functions need it. Errors: those of RootOwnership. */
export interface OwnedRoots {
  /** Looks at every marker that decides about the root, each time: what a sweep does. Answers what lies below. */
  claim(root: string): Promise<Discovery>;
  /** Trusts what the last sweep wrote to the ledger: one read, so that a queue reads no marker before its table. */
  ensure(): Promise<void>;
}

/** So many keys in one read of the ledger. */
const KEYS_AT_ONCE = 100;

export function createOwnedRoots(options: OwnedRootsOptions): OwnedRoots {
  const { ledger, roots, newId, storageFor, now } = options;
  const owner = async () => ({ ledgerId: await ledgerId(ledger, newId), ledger: options.ledgerName });
  const ownership = createRootOwnership({ storageFor, owner, now });
  /** Roots that this process has written to the ledger and not taken back. */
  const noted = new Set<string>();

  async function claim(root: string): Promise<Discovery> {
    let discovery: Discovery;
    try {
      discovery = await ownership.assertOwned(root);
    } catch (error) {
      // From now on the queues have to stop, too.
      if (isForeignRoot(errorRecord(error))) await note(root, false);
      throw error;
    }
    if (!noted.has(root)) await note(root, true);
    return discovery;
  }

  /** An update in both cases: the queues have no right to delete items. */
  async function note(root: string, owned: boolean): Promise<void> {
    await ledger.transact([{ kind: 'update', key: keyOf(root), set: { root, owned }, when: [] }], {
      clientToken: newId(),
    });
    if (owned) noted.add(root);
    else noted.delete(root);
  }

  return {
    claim,
    async ensure() {
      for (let at = 0; at < roots.length; at += KEYS_AT_ONCE) {
        const page = roots.slice(at, at + KEYS_AT_ONCE);
        const items = await ledger.getMany(page.map(keyOf));
        for (const [index, root] of page.entries()) if (items[index]?.attributes.owned !== true) await claim(root);
      }
    },
  };
}

function keyOf(root: string) {
  return { pk: 'LEDGER', sk: `ROOT#${root}` } as const;
}
