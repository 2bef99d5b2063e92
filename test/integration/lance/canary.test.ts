import { Index, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
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
import { rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import {
  head,
  mergeIntoBase,
  openAnew,
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

async function withWords(table: Table): Promise<void> {
  await table.delete("id = 'key-000019'");
  await table.createIndex('id', { config: Index.btree(), name: 'id_idx' });
  await table.createIndex('payload', { config: Index.fts(), name: 'words' });
}

/** The value of n at row 3 by a full text search, which reads generations until the index has caught up. */
async function seenByWords(story: WalStory): Promise<number[]> {
  const query = (await openAnew(story)).query().fullTextSearch('payload', { columns: ['payload'] });
  const found = await query.limit(100).toArray();
  return found.filter(({ id }) => id === 'key-000003').map(({ n }) => Number(n));
}

function numbersIn(...messages: readonly WireMessage[]): number[] {
  return [...new Set(messages.flatMap(({ fields }) => fields.map(({ number }) => number)))].sort((a, b) => a - b);
}

describe('canary: an upgrade of LanceDB', () => {
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
    await (await openAnew(story)).optimize();
    expect((await head(story)).memWal?.catchUp.get('words')).toEqual(new Map([[story.shardId, 1]]));
    expect([await seen(story), await seenByWords(story)]).toEqual([500, [500]]);
  });

  it('still believes the catch-up that we write', async () => {
    const story = await walStory(temporaryFolder(), 1, withWords);
    await mergeIntoBase(story, 500);
    await withWords(await openAnew(story));
    await commitWatermark(story.store, watermarkRequest(story, 1));
    expect(await seenByWords(story)).toEqual([101]);
    await commitWatermark(story.store, watermarkRequest(story, 1, { catchUpWhenIndexed: true }));
    expect([await seen(story), await seenByWords(story)]).toEqual([500, [500]]);
  });

  it('still keeps watermark and drain in its own commits', async () => {
    const story = await walStory(temporaryFolder(), 1, withWords);
    const stale = await openAnew(story);
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
});
