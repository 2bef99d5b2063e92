import { connect, type Table } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import { arrow, type DataType, type Schema } from '../../../src/work/arrow.ts';
import { indexId } from '../../../src/work/index-id.ts';
import type { Lancedb } from '../../../src/work/lancedb.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import {
  createPlainTable,
  enableWal,
  flushGeneration,
  headOf,
  readRows,
  row,
  rows,
  shardOf,
} from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

interface Column {
  readonly name: string;
  readonly type: DataType;
  readonly values: readonly unknown[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A table of the key and one column, whose two rows wait in a generation too. */
async function tableWith(key: Column, column: Column, format = '2.2') {
  const folder = temporaryFolder();
  const field = ({ name, type, metadata }: Column, nullable: boolean) =>
    new arrow.Field(name, type, nullable, metadata ? new Map(Object.entries(metadata)) : undefined);
  const schema = new arrow.Schema([field(key, false), field(column, true)]);
  const table = await (await connect(folder)).createEmptyTable('events', schema as never, {
    storageOptions: { new_table_data_storage_version: format },
  });
  await table.setUnenforcedPrimaryKey(key.name);
  await table.setLsmWriteSpec({ specType: 'unsharded' });
  const put = table.mergeInsert(key.name).whenMatchedUpdateAll().whenNotMatchedInsertAll();
  await put.execute(tableOf(schema, [key, column]) as never);
  await table.closeLsmWriters();
  return { table, target: `${folder}/events.lance` };
}

function tableOf(schema: Schema, columns: readonly Column[]) {
  const children = columns.map(({ values, type }) => arrow.vectorFromArray(values as never[], type as never).data[0]);
  const data = arrow.makeData({ type: new arrow.Struct(schema.fields), length: 2, nullCount: 0, children } as never);
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data as never)]);
}

async function refusal(target: string) {
  const before = (await headOf(target)).version;
  const error = await mergeWal(attemptOn(target), workDependencies()).catch((thrown: unknown) => thrown);
  expect((await headOf(target)).version).toBe(before);
  return error;
}

const key: Column = { name: 'id', type: new arrow.Utf8(), values: ['a', 'b'] };
const number: Column = { name: 'n', type: new arrow.Int32(), values: [1, null] };
const extension = (name: string) => ({ 'ARROW:extension:name': name });

describe('a merge refuses once, before anything is written,', () => {
  const blob = new arrow.Struct([
    new arrow.Field('data', new arrow.LargeBinary(), true),
    new arrow.Field('uri', new arrow.Utf8(), true),
  ]);
  it.each([
    ['a JSON column', { type: new arrow.LargeBinary(), values: [null, null], metadata: extension('lance.json') }],
    [
      'a blob column',
      { type: blob, values: [{ data: new Uint8Array(9), uri: null }, null], metadata: extension('lance.blob.v2') },
    ],
    [
      'a JSON column inside a struct',
      {
        type: new arrow.Struct([
          new arrow.Field('j', new arrow.LargeBinary(), true, new Map(Object.entries(extension('lance.json')))),
        ]),
        values: [null, null],
      },
    ],
  ])('%s', async (_, column) => {
    const { target } = await tableWith(key, { name: 'x', ...column });
    expect(await refusal(target)).toMatchObject({ code: 'TYPE_UNSUPPORTED', disposition: 'permanent' });
  });

  it.each([
    ['bool', new arrow.Bool(), [true, false]],
    ['text', new arrow.Utf8(), ['x', 'y']],
  ])('a column _tombstone of the user, a %s', async (_, type, values) => {
    const { target } = await tableWith(key, { name: '_tombstone', type, values });
    expect(await refusal(target)).toMatchObject({ code: 'TOMBSTONE_COLUMN_TAKEN', disposition: 'permanent' });
  });

  it('one that was renamed after the rows were written', async () => {
    const { table, target } = await tableWith(key, {
      name: '_tombstone',
      type: new arrow.Bool(),
      values: [true, false],
    });
    await table.alterColumns([{ path: '_tombstone', rename: 'flag' }]);
    expect(await refusal(target)).toMatchObject({ code: 'TOMBSTONE_COLUMN_TAKEN' });
  });

  it('a key column with a double quote in its name', async () => {
    const { target } = await tableWith({ ...key, name: 'a"b' }, number);
    expect(await refusal(target)).toMatchObject({ code: 'COLUMN_NAME_UNSUPPORTED', disposition: 'permanent' });
  });

  it('a column whose name begins with a byte order mark, which it makes visible', async () => {
    const { target } = await tableWith(key, { ...number, name: '\ufeffn' });
    const error = await refusal(target);
    expect(error).toMatchObject({ code: 'COLUMN_NAME_UNSUPPORTED', message: expect.stringContaining('\\ufeffn') });
  });

  it('rows without a struct column that a table of format 2.0 got later, since it cannot hold a null struct', async () => {
    const { table, target } = await tableWith(key, number, '2.0');
    expect((await headOf(target)).dataFormatVersion).toBe('2.0');
    const type = new arrow.Struct([new arrow.Field('a', new arrow.Int32(), true)]);
    await table.addColumns([new arrow.Field('s', type, true)] as never);
    expect(await refusal(target)).toMatchObject({ code: 'STRUCT_NULL_UNSUPPORTED', disposition: 'permanent' });
  });
});

it('a column that the base got later is no tombstone, though it has the field id that those have in the generation', async () => {
  const folder = temporaryFolder();
  const table = await createPlainTable(folder, 'events', rows(0, 10, 0));
  await enableWal(table);
  await flushGeneration(table, [row(1, 1)]);
  await table.addColumns([new arrow.Field('flag', new arrow.Bool(), true)] as never);
  const target = `${folder}/events.lance`;
  await mergeWal(attemptOn(target), workDependencies());
  expect((await readRows(target, { lsm: false })).get('key-000001')).toMatchObject({ n: 1n, flag: null });
});

it('a large text key is merged without a BTree, and asking for one is refused for good', async () => {
  const { target } = await tableWith({ ...key, type: new arrow.LargeUtf8(), values: ['\ufeffa', 'a'] }, number);
  const lines: string[] = [];
  await mergeWal({ ...attemptOn(target), progress: (line) => lines.push(line) }, workDependencies());
  expect([...(await readRows(target, { lsm: false })).values()]).toHaveLength(2);
  expect(lines.join()).toContain('LanceDB builds no BTree on id');
  const refused = indexId(attemptOn(target), workDependencies());
  await expect(refused).rejects.toMatchObject({ code: 'KEY_TYPE_UNSUPPORTED', disposition: 'permanent' });
});

describe('a table that asks to slow down', () => {
  const calls = ['schema', 'query', 'countRows', 'checkoutLatest'] as const;
  it.each(calls)('while the base table answers %s() makes the merge wait, whatever the step', async (call) => {
    const folder = temporaryFolder();
    const table = await createPlainTable(folder, 'events', rows(0, 10, 0));
    await enableWal(table);
    await flushGeneration(table, [row(1, 1)]);
    const dependencies = workDependencies();
    const lancedb: Lancedb = {
      connect: (uri) => dependencies.lancedb.connect(uri),
      openTable: async (uri) => failing(await dependencies.lancedb.openTable(uri), call),
    };
    const merge = mergeWal(attemptOn(`${folder}/events.lance`), { ...dependencies, lancedb });
    await expect(merge).rejects.toMatchObject({ code: 'STORE_THROTTLED', disposition: 'contention' });
    expect((await shardOf(`${folder}/events.lance`)).generations).toHaveLength(1);
  });

  function failing(table: Table, call: (typeof calls)[number]): Table {
    return new Proxy(table, {
      get(target, name) {
        if (name === call) {
          return () => {
            throw new Error('lance error: 503 Service Unavailable: SlowDown');
          };
        }
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
});
