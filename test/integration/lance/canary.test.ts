import { readFileSync } from 'node:fs';
import { Index, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { HOLD_INDEX, holdIn } from '../../../src/lance/hold.ts';
import { placeHold, removeHold } from '../../../src/lance/hold-commit.ts';
import { indexCoverage } from '../../../src/lance/index-coverage.ts';
import { readManifestFile } from '../../../src/lance/manifest-file.ts';
import { drainShard } from '../../../src/lance/shards.ts';
import { commitWatermark } from '../../../src/lance/watermark.ts';
import {
  bytesValue,
  fieldsOf,
  lastField,
  messageAt,
  nested,
  nestedAll,
  text,
  type WireMessage,
} from '../../../src/lance/wire.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import {
  answers,
  createSearchTable,
  openAnew,
  searchRow,
  searchRows,
  VECTOR_INDEXES,
  type VectorIndex,
} from '../../fixtures/search-table.ts';
import { headOf, rows, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import {
  head,
  mergeIntoBase,
  openAnew as openStory,
  seen,
  shard,
  type WalStory,
  walStory,
  watermark,
  watermarkRequest,
} from './wal-story.ts';

/*
 * The canary. Field numbers and behaviour below are what LanceDB 0.39.0 (lance 12.0.0) was measured to have. When an
 * upgrade makes one of these fail, nothing of ours may write to a table of that LanceDB before docs/format.md has been
 * gone through again.
 */

const KINDS = Object.keys(VECTOR_INDEXES) as VectorIndex[];
const atOnce = { beforePut: async () => undefined };

async function withWords(table: Table): Promise<void> {
  await table.delete("id = 'key-000019'");
  await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await table.createIndex('payload', { config: Index.fts(), name: 'words' });
}

/** The value of n at row 3 by a full text search, which reads generations until the index has caught up. */
async function seenByWords(story: WalStory): Promise<number[]> {
  const query = (await openStory(story)).query().fullTextSearch('payload', { columns: ['payload'] });
  const found = await query.limit(100).toArray();
  return found.filter(({ id }) => id === 'key-000003').map(({ n }) => Number(n));
}

function numbersIn(...messages: readonly WireMessage[]): number[] {
  return [...new Set(messages.flatMap(({ fields }) => fields.map(({ number }) => number)))].sort((a, b) => a - b);
}

describe('canary: an upgrade of LanceDB', () => {
  it('is of the release that docs/format.md was tried with', () => {
    const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
    const { version } = JSON.parse(read('node_modules/@lancedb/lancedb/package.json')) as { version: string };
    expect(read('docs/format.md')).toContain(`Tried with: LanceDB ${version} `);
  });

  it('has not changed which fields it writes', async () => {
    const story = await walStory(temporaryFolder(), 2, withWords);
    const manifest = await head(story);
    const file = readManifestFile(manifest.key, manifest.bytes);
    const entries = file.indexSection ? nestedAll(file.indexSection, 1, 'IndexMetadata') : [];
    const entry = entries.find((candidate) => text(candidate, 3) === '__lance_mem_wal') as WireMessage;
    const any = nested(entry, lastField(entry, 6) as never, 'Any');
    const details = nested(any, lastField(any, 2) as never, 'MemWalIndexDetails');
    const fragments = nestedAll(file.manifest, 2, 'DataFragment');
    const shardManifest = await shard(story);
    const source = { file: shardManifest.key, bytes: shardManifest.bytes, code: 'SHARD_MANIFEST_UNREADABLE' } as const;
    const shardMessage = messageAt(source, 0, shardManifest.bytes.length, 'ShardManifest');
    expect({
      manifest: numbersIn(file.manifest),
      fragment: numbersIn(...fragments),
      dataFile: numbersIn(...fragments.flatMap((fragment) => nestedAll(fragment, 2, 'DataFile'))),
      deletionFile: numbersIn(...fragments.flatMap((fragment) => nestedAll(fragment, 3, 'DeletionFile'))),
      index: numbersIn(...entries),
      memWal: numbersIn(details),
      shard: numbersIn(shardMessage),
      generation: numbersIn(...nestedAll(shardMessage, 8, 'SsTable')),
      footer: Buffer.from(file.footer).toString('hex'),
      writer: new TextDecoder()
        .decode(bytesValue(file.manifest, fieldsOf(file.manifest, 13)[0] as never))
        .replace(/[^\w.]+/g, ' ')
        .trim(),
    }).toEqual({
      manifest: [1, 2, 3, 6, 7, 9, 10, 11, 12, 13, 15, 21],
      fragment: [1, 2, 3, 4],
      dataFile: [1, 2, 3, 4, 5, 6],
      deletionFile: [2, 3, 4],
      index: [1, 2, 3, 4, 5, 6, 7, 8, 10],
      memWal: [2, 7, 8],
      shard: [1, 2, 3, 4, 6, 8, 10, 11],
      generation: [1, 2, 3, 4, 5],
      footer: '000002004c414e43',
      writer: 'lance 12.0.0',
    });
  });

  it('still reads the watermark from the field that we write, and records catch-up in the one that we read', async () => {
    const story = await walStory(temporaryFolder(), 1, withWords);
    await mergeIntoBase(story, 500);
    expect([await seen(story), await seenByWords(story)]).toEqual([101, [101]]);
    await commitWatermark(story.store, watermarkRequest(story, 1, { catchUpWhenIndexed: true }));
    expect([await seen(story), await seenByWords(story)], 'the words are not indexed yet').toEqual([500, [101]]);
    await (await openStory(story)).optimize();
    expect((await head(story)).memWal?.catchUp.get('words')).toEqual(new Map([[story.shardId, 1]]));
    expect([await seen(story), await seenByWords(story)]).toEqual([500, [500]]);
  });

  it('still believes the catch-up that we write', async () => {
    const story = await walStory(temporaryFolder(), 1, withWords);
    await mergeIntoBase(story, 500);
    await withWords(await openStory(story));
    await commitWatermark(story.store, watermarkRequest(story, 1));
    expect(await seenByWords(story)).toEqual([101]);
    await commitWatermark(story.store, watermarkRequest(story, 1, { catchUpWhenIndexed: true }));
    expect([await seen(story), await seenByWords(story)]).toEqual([500, [500]]);
  });

  it('still keeps watermark and drain in its own commits', async () => {
    const story = await walStory(temporaryFolder(), 1, withWords);
    const stale = await openStory(story);
    await stale.countRows();
    await mergeIntoBase(story, 500);
    await commitWatermark(story.store, watermarkRequest(story, 1));
    await drainShard(story.store, story.shardId, new Set([1]));
    await stale.add(rows(50, 52, 0) as never);
    await stale.optimize();
    expect(await watermark(story)).toBe(1);
    expect(await seen(story)).toBe(500);
    expect((await shard(story)).generations).toEqual([]);
  });

  it.each(KINDS)(
    'still compacts only what a hold leaves free, with every index whole, beside an index %s',
    async (kind) => {
      const folder = temporaryFolder();
      const target = `${folder}/t.lance`;
      const store = createFileObjectStore(target);
      const table = await createSearchTable(folder, 't', { fragments: 8, rowsEach: 60, vectorIndex: kind });
      await table.delete("id = 'key-000130'");
      const before = await answers(await openAnew(target), { base: true });
      await placeHold(store, [2, 3, 4], atOnce);
      await (await openAnew(target)).optimize({ cleanupOlderThan: new Date(0) });
      const held = await headOf(target);
      const kept = [0, 1, 5, 6, 7];
      expect(held.fragments.map(({ id }) => id).filter((id) => id <= 7)).toEqual(kept);
      expect(held.fragments).toHaveLength(kept.length + 1);
      expect(indexCoverage(held).map(({ name, rowsOutside }) => [name, rowsOutside])).toEqual(
        ['id_idx', 'label_idx', 'text_idx', 'vector_idx'].map((name) => [name, 0]),
      );
      await removeHold(store, atOnce);
      expect(await answers(await openAnew(target), { base: true })).toEqual(before);
    },
  );

  it('still extends every index over what a hold keeps, and leaves the data alone', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    const table = await createSearchTable(folder, 't', { fragments: 2, rowsEach: 300, vectorIndex: 'IVF_FLAT' });
    for (let number = 0; number < 4; number += 1)
      await table.add(searchRows(6000 + number * 5, 6005 + number * 5) as never);
    const { fragments } = await headOf(target);
    await placeHold(createFileObjectStore(target), [], atOnce);
    await (await openAnew(target)).optimize({ cleanupOlderThan: new Date(0) });
    const head = await headOf(target);
    expect(head.fragments).toEqual(fragments);
    expect(indexCoverage(head).filter(({ rowsOutside }) => rowsOutside > 0)).toEqual([]);
  });

  it('still lets every other call work on a table with a hold, which none of them sees', async () => {
    const folder = temporaryFolder();
    const target = `${folder}/t.lance`;
    const table = await createSearchTable(folder, 't', { fragments: 3, rowsEach: 100, vectorIndex: 'IVF_FLAT' });
    const old = await openAnew(target);
    await old.countRows();
    await placeHold(createFileObjectStore(target), [1], atOnce);
    for (const handle of [await openAnew(target), old]) {
      await handle.add(searchRows(7000, 7003) as never);
      await handle.delete("id = 'key-007001'");
      await handle.update({ where: "id = 'key-000001'", values: { label: 'changed' } });
      await upsert(handle).execute([searchRow(2, 9)] as never);
    }
    const handle = await openAnew(target);
    await handle.createIndex('label', { config: Index.bitmap(), name: 'label_idx', replace: true });
    await handle.addColumns([{ name: 'extra', valueSql: 'cast(1 as int)' }]);
    await handle.setUnenforcedPrimaryKey('id');
    expect((await handle.listIndices()).map(({ name }) => name).sort()).toEqual([
      'id_idx',
      'label_idx',
      'text_idx',
      'vector_idx',
    ]);
    expect(holdIn(await headOf(target))).toBeDefined();
    await handle.dropIndex(HOLD_INDEX);
    expect(holdIn(await headOf(target))).toBeUndefined();
    table.close();
  });
});
