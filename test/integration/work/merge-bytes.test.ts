import { connect } from '@lancedb/lancedb';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ArrowTable, arrow, type DataType, type RecordBatch } from '../../../src/work/arrow.ts';
import { mergeWal } from '../../../src/work/merge-wal.ts';
import { bytesByKey } from '../../fixtures/arrow-bytes.ts';
import { enableWal, upsert } from '../../fixtures/tables.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { attemptOn, workDependencies } from '../../fixtures/work.ts';

/** Text that decoders, parsers and encoders are known to change. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    '\ufeff',
    '\ufeffa',
    'a\ufeff',
    '\ufeff\ufeffa',
    '\0',
    'a\0b',
    "'",
    '"',
    '\\',
    '`',
    'é',
    'e\u0301',
    '😀',
    '\u2028',
    '%',
    '$1',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);
const bytes = fc.uint8Array({ maxLength: 6 });
const fixed = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const item = (type: DataType) => new arrow.Field('item', type, true);
const { Dictionary, Int8, Int16, Int32, Uint8 } = arrow;

/** Every type that LanceDB tables and a merge takes. */
const types: readonly (readonly [string, DataType, fc.Arbitrary<unknown>])[] = [
  ['null', new arrow.Null(), fc.constant(null)],
  ['bool', new arrow.Bool(), fc.boolean()],
  ['int8', new Int8(), fc.integer({ min: -128, max: 127 })],
  ['int16', new Int16(), fc.integer({ min: -32_768, max: 32_767 })],
  ['int32', new Int32(), fc.integer()],
  ['int64', new arrow.Int64(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  ['uint8', new Uint8(), fc.integer({ min: 0, max: 255 })],
  ['uint16', new arrow.Uint16(), fc.integer({ min: 0, max: 65_535 })],
  ['uint32', new arrow.Uint32(), fc.integer({ min: 0, max: 2 ** 32 - 1 })],
  ['uint64', new arrow.Uint64(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
  ['float16', new arrow.Float16(), fc.constantFrom(0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY)],
  ['float32', new arrow.Float32(), fc.float()],
  ['float64', new arrow.Float64(), fc.double()],
  ['utf8', new arrow.Utf8(), text],
  ['large utf8', new arrow.LargeUtf8(), text],
  ['binary', new arrow.Binary(), bytes],
  ['large binary', new arrow.LargeBinary(), bytes],
  ['fixed-size binary', new arrow.FixedSizeBinary(3), fixed(3)],
  ['date32', new arrow.DateDay(), fc.date({ min: new Date(0), max: new Date(1e12), noInvalidDate: true })],
  ['date64', new arrow.DateMillisecond(), fc.date({ min: new Date(0), max: new Date(1e12), noInvalidDate: true })],
  ['time32 s', new arrow.TimeSecond(), fc.integer({ min: 0, max: 86_399 })],
  ['time32 ms', new arrow.TimeMillisecond(), fc.integer({ min: 0, max: 86_399_999 })],
  ['time64 us', new arrow.TimeMicrosecond(), fc.bigInt({ min: 0n, max: 86_399_999_999n })],
  ['time64 ns', new arrow.TimeNanosecond(), fc.bigInt({ min: 0n, max: 86_399_999_999_999n })],
  ['timestamp s', new arrow.TimestampSecond(), fc.integer({ min: 0, max: 2e9 }).map((seconds) => seconds * 1000)],
  ['timestamp us, zoned', new arrow.TimestampMicrosecond('Europe/Zurich'), fc.integer({ min: 0, max: 2e9 })],
  ['timestamp ns', new arrow.TimestampNanosecond(), fc.integer({ min: 0, max: 2e9 })],
  ['duration s', new arrow.DurationSecond(), fc.bigInt({ min: -9n, max: 2n ** 40n })],
  ['duration ns', new arrow.DurationNanosecond(), fc.bigInt({ min: -9n, max: 2n ** 40n })],
  ['decimal 128', new arrow.Decimal(2, 38, 128), fc.integer({ min: 0 }).map((n) => new Uint32Array([n, n, 0, 0]))],
  [
    'decimal 256',
    new arrow.Decimal(2, 50, 256),
    fc.integer({ min: 0 }).map((n) => new Uint32Array([n, n, 0, 0, 0, 0, 0, 0])),
  ],
  ['list of text', new arrow.List(item(new arrow.Utf8())), fc.array(fc.option(text), { maxLength: 3 })],
  [
    'list of dictionary',
    new arrow.List(item(new Dictionary(new arrow.Utf8(), new Int16()))),
    fc.array(text, { maxLength: 3 }),
  ],
  [
    'vector',
    new arrow.FixedSizeList(2, item(new arrow.Float32())),
    fc.array(fc.float(), { minLength: 2, maxLength: 2 }),
  ],
  ['half vector', new arrow.FixedSizeList(2, item(new arrow.Float16())), fc.constantFrom([1, -0], [0.5, 2])],
  ['byte vector', new arrow.FixedSizeList(2, item(new Uint8())), fc.array(fc.nat(255), { minLength: 2, maxLength: 2 })],
  ['struct', new arrow.Struct([item(new arrow.Utf8())]), fc.record({ item: fc.option(text) })],
  [
    'list of struct',
    new arrow.List(item(new arrow.Struct([item(new Int32())]))),
    fc.array(fc.record({ item: fc.integer() }), { maxLength: 3 }),
  ],
  [
    'map',
    new arrow.Map_(
      new arrow.Field(
        'entries',
        new arrow.Struct([
          new arrow.Field('key', new arrow.Utf8(), false),
          new arrow.Field('value', new Int32(), true),
        ]) as never,
        false,
      ),
    ) as unknown as DataType,
    fc
      .uniqueArray(fc.tuple(fc.constantFrom('\ufeffa', 'a', 'b'), fc.integer()), { selector: ([key]) => key })
      .map((pairs) => new Map(pairs)),
  ],
  ['dictionary of text', new Dictionary(new arrow.Utf8(), new Int16()), text],
  ['dictionary of text by uint8', new Dictionary(new arrow.Utf8(), new Uint8()), text],
  ['dictionary of large text', new Dictionary(new arrow.LargeUtf8(), new Int32()), text],
  ['dictionary of binary', new Dictionary(new arrow.Binary(), new Int16()), bytes],
  ['dictionary of int64', new Dictionary(new arrow.Int64(), new Int8()), fc.bigInt({ min: -9n, max: 9n })],
];

/** Arrow's builder leaves the child of a fixed-size list too short when it ends in nulls. */
function vector(type: DataType, values: readonly unknown[]) {
  if (!arrow.DataType.isFixedSizeList(type)) return arrow.vectorFromArray(values as never[], type as never);
  const flat = (values as (readonly number[] | null)[]).flatMap((value) => value ?? new Array(type.listSize).fill(0));
  const child = arrow.vectorFromArray(flat, type.children[0]?.type as never).data[0];
  const nullBitmap = new Uint8Array(8);
  values.forEach((value, row) => {
    if (value !== null) nullBitmap[0] = (nullBitmap[0] ?? 0) | (1 << row);
  });
  const nullCount = values.filter((value) => value === null).length;
  return arrow.makeVector(
    arrow.makeData({ type, length: values.length, nullCount, nullBitmap, child } as never) as never,
  );
}

function tableOf(
  type: DataType,
  keys: readonly string[],
  values: readonly unknown[],
  metadata?: Map<string, string>,
): ArrowTable {
  const schema = new arrow.Schema([
    new arrow.Field('id', new arrow.Utf8(), false),
    new arrow.Field('x', type, true, metadata),
  ]);
  const children = [vector(new arrow.Utf8(), keys).data[0], vector(type, values).data[0]];
  const data = arrow.makeData({
    type: new arrow.Struct(schema.fields),
    length: keys.length,
    nullCount: 0,
    children,
  } as never);
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data as never)]);
}

/** Writes each layer as a generation over an empty base, merges, and reads the base as bytes. */
async function merged(layers: readonly ArrowTable[], sliceBytes: number) {
  const folder = temporaryFolder();
  const [first] = layers;
  const table = await (await connect(folder)).createEmptyTable('events', first?.schema as never);
  await enableWal(table);
  for (const layer of layers) {
    await upsert(table).execute(layer as never);
    await table.closeLsmWriters();
  }
  await mergeWal(attemptOn(`${folder}/events.lance`), workDependencies({ mergeSliceBytes: sliceBytes }));
  await table.checkoutLatest();
  const batches: RecordBatch[] = [];
  for await (const batch of table.query().useLsm(false)) batches.push(batch as unknown as RecordBatch);
  table.close();
  return bytesByKey(batches);
}

const keys = fc.uniqueArray(text, { minLength: 1, maxLength: 6 });

it.each(types)(
  'rows of %s come out of a merge byte for byte, whatever their keys',
  { timeout: 240_000 },
  async (_, type, value) => {
    const layer = keys.chain((ids) =>
      fc.record({
        ids: fc.constant(ids),
        values: fc.array(fc.option(value), { minLength: ids.length, maxLength: ids.length }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(layer, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(1, 200, 8_388_608),
        async (layers, sliceBytes) => {
          const tables = layers.map(({ ids, values }) => tableOf(type, ids, values));
          const expected = Object.assign({}, ...tables.map((table) => bytesByKey(table.batches)));
          expect(await merged(tables, sliceBytes)).toEqual(expected);
        },
      ),
      {
        numRuns: 2,
        examples: [[[{ ids: ['\ufeffa', 'a'], values: [null, null] }], 8_388_608]] as never,
        endOnFailure: true,
      },
    );
  },
);

it.each([
  ['arrow.uuid', new arrow.FixedSizeBinary(16), new Uint8Array(16).fill(7)],
  ['lance.bfloat16', new arrow.FixedSizeBinary(2), new Uint8Array([1, 2])],
  ['acme.unheard-of', new arrow.Utf8(), '\ufeffx'],
])('an extension type that LanceDB tables as it is, %s, keeps its bytes and its name', async (name, type, value) => {
  const metadata = new Map([['ARROW:extension:name', name]]);
  const tables = [
    tableOf(type, ['a', 'b'], [value, null], metadata),
    tableOf(type, ['b', 'c'], [value, value], metadata),
  ];
  const expected = Object.assign({}, ...tables.map((table) => bytesByKey(table.batches)));
  expect(await merged(tables, 1)).toEqual(expected);
});
