import { beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { UpkeepError } from '../../../src/errors.ts';
import type { StoreFacts } from '../../../src/fleet/facts.ts';
import { createSweep } from '../../../src/fleet/sweep.ts';
import { toStored } from '../../../src/fleet/sweep-ledger.ts';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { type CountedRequest, countingStore } from '../../fixtures/counting-store.ts';
import { storeFacts } from '../../fixtures/facts.ts';
import { fleetLedger } from '../../fixtures/fleet-ledger.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';

const settings = loadSettings({});
const root = 's3://bucket/db';
const names = ['a', 'b', 'c'];

/** No manifest in here can be decoded: these tests are about what a sweep does when stores fail. */
function fleet(before?: (uri: string, request: CountedRequest) => void) {
  const { store: inRoot, put } = memoryStore(root);
  for (const name of names) put(`${name}.lance/_versions/18446744073709551614.manifest`, 'no manifest');
  return (uri: string): ObjectStore => {
    const store: ObjectStore = uri === root ? inRoot : prefixed(inRoot, uri);
    return countingStore(store, (request) => before?.(uri, request)).store;
  };
}

function prefixed(store: ObjectStore, uri: string): ObjectStore {
  const prefix = `${uri.slice(root.length + 1)}/`;
  return {
    ...store,
    uri,
    get: (key) => store.get(prefix + key),
    list: async (within, options) => {
      const { objects, ...rest } = await store.list(prefix + within, options);
      return { ...rest, objects: objects.map((object) => ({ ...object, key: object.key.slice(prefix.length) })) };
    },
  };
}

function throttled() {
  return new UpkeepError('Slow down.', { code: 'STORAGE_THROTTLED', disposition: 'contention' });
}

let memory: ReturnType<typeof fleetLedger>;
let time: number;
const clock = { now: () => time };

function known(name: string, changes: Partial<StoreFacts> = {}) {
  const facts = storeFacts({ target: `${root}/${name}.lance`, observedAt: 1000, rows: 42, ...changes });
  memory.facts.set(facts.target, toStored(facts, settings));
}

beforeEach(() => {
  memory = fleetLedger();
  time = 5_000_000;
});

function sweepOver(storageFor: (uri: string) => ObjectStore, roots: readonly string[] = [root]) {
  return createSweep({ storageFor, lifecycle: memory.ledger, roots, settings, clock });
}

describe('a sweep', () => {
  it('S14: keeps the last known facts through a whole round of errors, marked with error and age', async () => {
    for (const name of names) known(name);
    const sweep = sweepOver(
      fleet((uri) => {
        if (uri !== root) throw throttled();
      }),
    );

    const first = await sweep('all');
    time += 600_000;
    await sweep('all');

    expect(first).toMatchObject({ stores: [], requested: [] });
    expect(first.failed.map(({ target, error }) => [target, error.code])).toEqual(
      names.map((name) => [`${root}/${name}.lance`, 'STORAGE_THROTTLED']),
    );
    expect([...memory.facts.values()].map(({ facts }) => facts)).toEqual(
      names.map((name) =>
        expect.objectContaining({
          target: `${root}/${name}.lance`,
          rows: 42,
          observedAt: time,
          numbersFrom: 1000,
          error: expect.objectContaining({ code: 'STORAGE_THROTTLED' }),
        }),
      ),
    );
    expect(memory.admitted).toEqual([]);
  });

  it('reports a store that never could be read, and keeps no facts of it', async () => {
    const report = await sweepOver(fleet())('all');
    expect(report.failed.map(({ error }) => error.code)).toEqual(names.map(() => 'MANIFEST_UNREADABLE'));
    expect(memory.facts.size).toBe(0);
  });

  it('reports a root that cannot be listed, and goes on with the others', async () => {
    const other = 's3://bucket/other';
    const good = fleet();
    const storageFor = (uri: string) =>
      uri === other ? countingStore(memoryStore(other).store, failing).store : good(uri);
    const report = await sweepOver(storageFor, [other, root])('all');
    expect(report.failed.map(({ target }) => target)).toEqual([other, ...names.map((name) => `${root}/${name}.lance`)]);
  });

  it('passes over a directory that never was a table, but not over a table that is gone', async () => {
    const { store, put } = memoryStore(root);
    put('never.lance/data/x', '');
    put('gone.lance/data/x', '');
    known('gone');
    const report = await sweepOver((uri) => (uri === root ? store : memoryStore(uri).store))('all');
    expect(report.failed.map(({ target, error }) => [target, error.code])).toEqual([
      [`${root}/gone.lance`, 'TABLE_NOT_FOUND'],
    ]);
  });

  it('stops when it is told to', async () => {
    await expect(sweepOver(fleet())('all', AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});

function failing(): never {
  throw throttled();
}
