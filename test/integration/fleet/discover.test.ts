import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { discoverTables } from '../../../src/fleet/discover.ts';
import { createFileObjectStore } from '../../../src/storage/file-object-store.ts';
import { claimRoot } from '../../../src/upkeep/root-owner.ts';
import { createPlainTable, enableWal, flushGeneration, rows } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

describe('discovery', () => {
  it('finds every table at any depth, once, and nothing that only looks like one', async () => {
    const root = temporaryFolder();
    await createPlainTable(root, 'top', rows(0, 10, 0));
    await createPlainTable(join(root, 'team', 'a'), 'deep', rows(0, 10, 0));
    await createPlainTable(join(root, 'top.lance'), 'inside', rows(0, 10, 0));
    await createPlainTable(join(root, '_lance_upkeep', 'scratch'), 'clone', rows(0, 10, 0));
    const wal = await createPlainTable(root, 'wal', rows(0, 10, 0));
    await enableWal(wal);
    await flushGeneration(wal, rows(0, 5, 1));
    mkdirSync(join(root, 'empty.lance', 'data'), { recursive: true });
    writeFileSync(join(root, 'file.lance'), '');
    symlinkSync(join(root, 'team'), join(root, 'linked'));

    const { targets: found } = await discoverTables(createFileObjectStore(root));

    expect(found).toEqual([join(root, 'team/a/deep.lance'), join(root, 'top.lance'), join(root, 'wal.lance')]);
  });

  it('finds nothing in an empty root, and nothing more once the owner marker is there', async () => {
    const root = temporaryFolder();
    const store = createFileObjectStore(root);
    expect(await discoverTables(store)).toEqual({ targets: [], innerRoots: [], failed: [], leftOut: [] });
    await claimRoot(store, { ledgerId: 'a', ledger: '/a.sqlite' }, 0);
    expect(await discoverTables(store)).toEqual({ targets: [], innerRoots: [], failed: [], leftOut: [] });
  });
});
