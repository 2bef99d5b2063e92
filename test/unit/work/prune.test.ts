import { describe, expect, it } from 'vitest';
import { nestedTable } from '../../../src/fleet/nested-table.ts';
import type { ObjectStore } from '../../../src/lance/object-store.ts';
import { previewPrune } from '../../../src/upkeep/preview-prune.ts';
import type { WorkContext, WorkDependencies } from '../../../src/work/context.ts';
import { prune } from '../../../src/work/prune.ts';
import { type PruneLimits, pruneLimits } from '../../../src/work/prune-batch.ts';
import { batchesOf } from '../../../src/work/prune-plan.ts';
import { countingStore } from '../../fixtures/counting-store.ts';
import { memoryStore } from '../../fixtures/memory-store.ts';
import { attemptOn, workSettings } from '../../fixtures/work.ts';
import { type FragmentFields, manifestBytes, v2Key } from '../lance/synthetic.ts';

const day = 86_400_000;
const now = 100 * day;
const root = 's3://bucket/db';
const target = `${root}/t.lance`;
const limits: PruneLimits = { ...pruneLimits, restoreGraceMs: 0 };

interface Played {
  readonly store: ObjectStore;
  readonly put: (key: string, value: string | Uint8Array, modified?: number) => void;
  readonly keys: () => Promise<string[]>;
}

/** Objects as S3 lists them. Version v names the files v and v + 1, and is `20 - v` days old. */
function bucket(
  versions: number,
  fragmentsOf = (v: number): FragmentFields[] => [v, v + 1].map((id) => ({ id, rows: 4 })),
): Played {
  const { store, put } = memoryStore(root);
  for (let version = 1; version <= versions; version += 1) {
    const at = now - (versions - version) * day;
    put(`t.lance/${v2Key(version)}`, manifestBytes({ version, fragments: fragmentsOf(version) }), at);
    for (const { id } of fragmentsOf(version)) put(`t.lance/data/${id}.lance`, 'rows', at);
  }
  return { store, put, keys: async () => (await store.list('')).objects.map(({ key }) => key) };
}

function dependenciesOf(store: ObjectStore): WorkDependencies {
  return {
    storageFor: (uri) => (uri === root ? store : nestedTable(store, `${uri.slice(root.length + 1)}/`)),
    lancedb: {
      openTable: () => Promise.reject(new Error('a prune needs no native library')),
      connect: () => Promise.reject(new Error('a prune needs no native library')),
    },
    settings: { ...workSettings, pruneKeepVersions: 1 },
    now: () => now,
  };
}

function run(store: ObjectStore, context: WorkContext = attemptOn(target), some: Partial<PruneLimits> = {}) {
  return prune(context, dependenciesOf(store), { ...limits, ...some });
}

describe('pruning over an object store', () => {
  it('deletes old versions and the files that no retained one names, and nothing else', async () => {
    const { store, keys } = bucket(20);
    const { proof } = await run(store);
    const left = await keys();
    expect(left.filter((key) => key.includes('_versions/'))).toHaveLength(8);
    expect(
      left
        .filter((key) => key.includes('data/'))
        .map((key) => Number(/(\d+)\.lance$/.exec(key)?.[1]))
        .sort((a, b) => a - b),
    ).toEqual([13, 14, 15, 16, 17, 18, 19, 20, 21]);
    expect(proof).toMatchObject({ versionsRemoved: 12, filesRemoved: 12, removed: { data: { files: 12, bytes: 48 } } });
    expect(left.filter((key) => key.startsWith('_lance_upkeep/'))).toEqual([]);
  });

  it('records before it deletes, deletes manifests before files and oldest first, and renews its lease for each group', async () => {
    const { store } = bucket(20);
    const counted = countingStore(store);
    const attempt = attemptOn(target, { onFence: () => void counted.requests.push({ call: 'head', key: 'fence' }) });
    await run(counted.store, attempt, { group: 5 });
    const acts = counted.requests.flatMap(({ call, key }) => {
      if (key === 'fence') return 'fence';
      if (call === 'putIfAbsent') return 'record';
      if (call !== 'delete') return [];
      if (key.startsWith('_lance_upkeep/')) return 'drop';
      return key.includes('/_versions/') ? 'manifest' : 'file';
    });
    const group = (act: string, count: number) => ['fence', ...Array.from({ length: count }, () => act)];
    expect(acts).toEqual([
      ...['fence', 'record'],
      ...[5, 5, 2].flatMap((count) => group('manifest', count)),
      ...[5, 5, 2].flatMap((count) => group('file', count)),
      'drop',
    ]);
    const manifests = counted.requests.filter(({ call, key }) => call === 'delete' && key.includes('/_versions/'));
    expect(manifests.map(({ key }) => key.slice('t.lance/'.length))).toEqual(
      Array.from({ length: 12 }, (_, index) => v2Key(index + 1)),
    );
  });

  it('ends the same wherever the first attempt was killed', async () => {
    const whole = bucket(20);
    await run(whole.store);
    const expected = await whole.keys();
    let step = 0;
    for (let died = true; died; ) {
      step += 1;
      died = false;
      const { store, keys } = bucket(20);
      let calls = 0;
      const dying = countingStore(store, () => {
        calls += 1;
        if (calls < step) return;
        died = true;
        throw new Error('killed');
      });
      const small = { maxVersions: 4, group: 3 };
      if (
        await run(dying.store, attemptOn(target), small).then(
          () => false,
          () => true,
        )
      )
        await run(store, attemptOn(target), small);
      expect(await keys(), `killed at call ${step}`).toEqual(expected);
    }
    expect(step).toBeGreaterThan(60);
  });

  it('leaves one record behind, however often it is killed', async () => {
    const { store, keys } = bucket(20);
    for (let death = 1; death <= 4; death += 1) {
      const killed = attemptOn(target, {
        onFence: (count) => {
          if (count === (death === 1 ? 3 : 2)) throw new Error('killed');
        },
      });
      await expect(run(store, killed)).rejects.toThrow('killed');
      expect((await keys()).filter((key) => key.startsWith('_lance_upkeep/'))).toHaveLength(1);
    }
    await run(store);
    expect((await keys()).filter((key) => key.startsWith('_lance_upkeep/'))).toEqual([]);
  });

  it('keeps the files of a version that came back, though an earlier pass had recorded them', async () => {
    const { store, put, keys } = bucket(20);
    const killed = attemptOn(target, {
      onFence: (count) => {
        if (count === 3) throw new Error('killed');
      },
    });
    await expect(run(store, killed)).rejects.toThrow('killed');
    put(`t.lance/${v2Key(21)}`, manifestBytes({ version: 21, fragments: [{ id: 4, rows: 4 }] }), now);
    await run(store);
    const left = (await keys()).filter((key) => key.includes('data/')).map((key) => key.slice('t.lance/data/'.length));
    expect(left).toContain('4.lance');
    expect(left).not.toContain('5.lance');
  });

  it('keeps what a detached manifest names', async () => {
    const { store, put, keys } = bucket(20);
    put(
      't.lance/_versions/d9223372036854775817.manifest',
      manifestBytes({ version: 3, fragments: [{ id: 3, rows: 4 }] }),
      0,
    );
    expect((await previewPrune(dependenciesOf(store), target)).plan.files).not.toContain('data/3.lance');
    const { proof } = await run(store);
    expect(await keys()).toContain('t.lance/data/3.lance');
    expect(proof.versionsRetained).toMatchObject({ detached: 1 });
  });

  it('takes no foreign object in its own folder for a record, and leaves it there', async () => {
    const { store, put, keys } = bucket(20);
    await expect(
      run(
        store,
        attemptOn(target, {
          onFence: (count) => {
            if (count === 2) throw new Error('killed');
          },
        }),
      ),
    ).rejects.toThrow('killed');
    const record = (await keys()).find((key) => key.startsWith('_lance_upkeep/prune/')) ?? '';
    const folder = record.slice(0, record.lastIndexOf('/'));
    put(`${folder}/notes.txt`, 'not json');
    put(
      `${folder}/other.json`,
      JSON.stringify({ format: 1, target: 's3://bucket/db/u.lance', files: ['data/20.lance'] }),
    );
    await run(store);
    expect((await keys()).filter((key) => key.startsWith('_lance_upkeep/'))).toEqual([
      `${folder}/notes.txt`,
      `${folder}/other.json`,
    ]);
  });

  it('stops when it is told to, with what it had recorded still there', async () => {
    const { store, keys } = bucket(20);
    const controller = new AbortController();
    const attempt = {
      ...attemptOn(target, {
        onFence: (count) => {
          if (count === 3) controller.abort(new Error('lease lost'));
        },
      }),
      signal: controller.signal,
    };
    await expect(run(store, attempt)).rejects.toThrow('lease lost');
    expect((await keys()).filter((key) => key.startsWith('_lance_upkeep/'))).toHaveLength(1);
  });

  it('reads 2,000 manifests some at a time, never all at once', async () => {
    const { store } = bucket(2_000);
    let open = 0;
    let most = 0;
    const slow: ObjectStore = {
      ...store,
      async get(key) {
        open += 1;
        most = Math.max(most, open);
        await new Promise((resolve) => setImmediate(resolve));
        open -= 1;
        return store.get(key);
      },
    };
    const { proof } = await run(slow);
    expect(proof.versionsRemoved).toBe(1_992);
    expect(most).toBeGreaterThan(4);
    expect(most).toBeLessThanOrEqual(16);
  });
});

describe('the batches of a plan', () => {
  const version = (n: number) => ({ version: n, key: v2Key(n), naming: 'V2' as const, modified: 0, size: 1 });
  const file = (neededUntil: number) => ({
    key: `data/${neededUntil}.lance`,
    owner: '',
    fileClass: 'data' as const,
    size: 1,
    modified: 0,
    neededUntil,
  });
  const cut = (versions: number[], files: number[], maxVersions: number, maxFiles: number) =>
    [...batchesOf({ versions: versions.map(version), files: files.map(file) }, { maxVersions, maxFiles })].map(
      (batch) => [batch.versions.map((one) => one.version), batch.files.map((one) => one.neededUntil)],
    );

  it('hold each file with the last version that needs it, or an earlier batch never', () => {
    expect(cut([1, 2, 3, 4], [0, 1, 1, 2, 4], 2, 100)).toEqual([
      [
        [1, 2],
        [0, 1, 1, 2],
      ],
      [[3, 4], [4]],
    ]);
  });

  it('end once they have enough files, by whole versions', () => {
    expect(cut([1, 2, 3], [1, 1, 1, 2, 3], 100, 2)).toEqual([
      [[1], [1, 1, 1]],
      [
        [2, 3],
        [2, 3],
      ],
    ]);
  });

  it('hold what nothing needs any more in the first one, also where no version goes', () => {
    expect(cut([], [0, 0, 0], 1, 1)).toEqual([[[], [0, 0, 0]]]);
    expect(cut([], [], 1, 1)).toEqual([]);
  });
});
