import { beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config.ts';
import { UpkeepError } from '../../../src/errors.ts';
import type { TableFacts } from '../../../src/fleet/facts.ts';
import { createSweep } from '../../../src/fleet/sweep.ts';
import { toStored } from '../../../src/fleet/sweep-ledger.ts';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { type CountedRequest, countingStore } from '../../fixtures/counting-store.ts';
import { tableFacts } from '../../fixtures/facts.ts';
import { fleetLedger } from '../../fixtures/fleet-ledger.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';

const settings = loadSettings({});
const root = 's3://bucket/db';
const names = ['a', 'b', 'c'];

/** No manifest in here can be decoded: these tests are about what a sweep does when tables fail. */
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
  return new UpkeepError('Slow down.', { code: 'STORE_THROTTLED', disposition: 'contention' });
}

let memory: ReturnType<typeof fleetLedger>;
let time: number;
const clock = { now: () => time };

function known(name: string, changes: Partial<TableFacts> = {}) {
  const facts = tableFacts({ target: `${root}/${name}.lance`, observedAt: 1000, rows: 42, ...changes });
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

    expect(first).toMatchObject({ tables: [], requested: [] });
    expect(first.failed.map(({ target, error }) => [target, error.code])).toEqual(
      names.map((name) => [`${root}/${name}.lance`, 'STORE_THROTTLED']),
    );
    expect([...memory.facts.values()].map(({ facts }) => facts)).toEqual(
      names.map((name) =>
        expect.objectContaining({
          target: `${root}/${name}.lance`,
          rows: 42,
          observedAt: time,
          numbersFrom: 1000,
          error: expect.objectContaining({ code: 'STORE_THROTTLED' }),
        }),
      ),
    );
    expect(memory.admitted).toEqual([]);
  });

  it('reports a table that never could be read, and keeps no facts of it', async () => {
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

  it('that has no time at all reports every root as left out, and throws nothing', async () => {
    const report = await sweepOver(fleet())('all', AbortSignal.abort());
    expect(report).toMatchObject({ tables: [], requested: [], failed: [], skipped: [root] });
  });

  describe('that runs out of time', () => {
    const many = Array.from({ length: 40 }, (_, index) => `t${String(index).padStart(2, '0')}`);

    /** Each sweep is stopped while it reads the so many-th table; that table never answers. */
    function shortSweep(looksEach: number) {
      const { store, put } = memoryStore(root);
      for (const name of many) put(`${name}.lance/_versions/18446744073709551614.manifest`, 'no manifest');
      const cursors = new Map<string, string | undefined>();
      const seen: string[] = [];
      const stop = { now: new AbortController(), left: 0 };
      const sweep = createSweep({
        storageFor: (uri) => {
          if (uri === root) return store;
          const inside = prefixed(store, uri);
          const read = async <T>(go: () => Promise<T>): Promise<T> => {
            if (seen.at(-1) !== uri && !seen.includes(uri)) {
              seen.push(uri);
              stop.left -= 1;
            }
            if (stop.left > 0) return go();
            stop.now.abort();
            return new Promise<T>(() => undefined);
          };
          return {
            ...inside,
            get: (key) => read(() => inside.get(key)),
            list: (...words) => read(() => inside.list(...words)),
          };
        },
        lifecycle: memory.ledger,
        roots: [root],
        settings,
        clock,
        cursor: {
          read: async (kind) => cursors.get(kind),
          write: async (kind, target) => void cursors.set(kind, target),
        },
      });
      return {
        cursors,
        async run(kind: 'all' | 'merge') {
          seen.length = 0;
          stop.now = new AbortController();
          stop.left = looksEach;
          const report = await sweep(kind, stop.now.signal);
          return { report, seen: seen.map((uri) => uri.slice(root.length + 1).replace('.lance', '')) };
        },
      };
    }

    it('answers in time with what it did and what it left out, though one table never answers', async () => {
      const { run } = shortSweep(12);
      const { report } = await run('all');
      expect(report.failed.length).toBeGreaterThan(0);
      expect(report.failed.length + report.skipped.length).toBe(many.length);
    });

    it('goes on with the table that was not seen for longest, until each has had its turn', async () => {
      const { run } = shortSweep(12);
      const looked = new Set<string>();
      const first = await run('all');
      for (const name of first.seen) looked.add(name);
      for (let round = 0; round < 12 && looked.size < many.length; round += 1) {
        for (const name of (await run('all')).seen) looked.add(name);
      }
      expect([...looked].sort()).toEqual(many);
    });

    it('goes on in its own place, whatever another kind of sweep has seen meanwhile', async () => {
      const { run, cursors } = shortSweep(12);
      const { report } = await run('merge');
      await run('all');
      expect(cursors.get('merge')).toBe(report.skipped[0]);
    });

    it('starts at the beginning again once a sweep has seen all', async () => {
      const short = shortSweep(Number.POSITIVE_INFINITY);
      short.cursors.set('all', `${root}/t20.lance`);
      const { seen, report } = await short.run('all');
      expect([seen[0], report.skipped, short.cursors.get('all')]).toEqual(['t20', [], undefined]);
    });
  });
});

function failing(): never {
  throw throttled();
}
