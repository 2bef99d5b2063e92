import type { Ledger } from './ports.ts';

/** Where a sweep continues after one of its kind ran out of time. */
export interface SweepCursor {
  /** The first table that the last sweep of this kind left out; undefined when it saw all. */
  read(sweep: string): Promise<string | undefined>;
  write(sweep: string, target: string | undefined): Promise<void>;
}

export function sweepCursor(ledger: Pick<Ledger, 'get' | 'transact'>, newId: () => string): SweepCursor {
  return {
    async read(sweep) {
      const next = (await ledger.get(keyOf(sweep)))?.attributes.next;
      return typeof next === 'string' ? next : undefined;
    },
    async write(sweep, target) {
      const change = target === undefined ? { remove: ['next'] } : { set: { next: target } };
      await ledger.transact([{ kind: 'update', key: keyOf(sweep), ...change, when: [] }], { clientToken: newId() });
    },
  };
}

function keyOf(sweep: string) {
  return { pk: 'LEDGER', sk: `SWEEP#${sweep}` } as const;
}
