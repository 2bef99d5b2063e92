import { connect } from '@lancedb/lancedb';
import { describe, expect, it } from 'vitest';
import type { RunReport, SendReport, StatusReport } from '../../../src/upkeep/reports.ts';
import { arrow } from '../../../src/work/arrow.ts';
import { commandJson } from '../../fixtures/command.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

type Value = Record<string, unknown>;

/** Tables as people make them who never thought of a key. */
const tables: Record<string, (id: number) => { rows: Value[]; schema?: unknown }> = {
  'with numbers of JavaScript as id': (id) => ({ rows: [{ id, n: id }] }),
  'with no id at all': (id) => ({ rows: [{ name: `name ${id}`, n: id }] }),
  'with large text as id': (id) => ({
    rows: [{ id: `id-${id}`, n: id }],
    schema: new arrow.Schema([
      new arrow.Field('id', new arrow.LargeUtf8(), false),
      new arrow.Field('n', new arrow.Float64(), true),
    ]),
  }),
};

async function make(folder: string, table: (id: number) => { rows: Value[]; schema?: unknown }) {
  const first = table(0);
  const options = first.schema === undefined ? {} : { schema: first.schema as never };
  const made = await (await connect(`${folder}/db`)).createTable('events', first.rows, options);
  for (let id = 1; id < 20; id += 1) await made.add(table(id).rows);
  made.close();
  return [`${folder}/db/events.lance`, ['--ledger', `${folder}/ledger.sqlite`]] as const;
}

describe.each(Object.entries(tables))('a table %s', (_name, table) => {
  it('is compacted and healthy: no index run is asked for, and nothing fails', async () => {
    const folder = temporaryFolder();
    const [target, ledger] = await make(folder, table);
    const { code, report } = await commandJson<RunReport>(['run', `${folder}/db`, ...ledger]);
    const status = await commandJson<StatusReport>(['status', ...ledger]);

    expect(report.tasks.map(({ kind, state }) => [kind, state])).toEqual([['Compact', 'done']]);
    expect(report.tables).toMatchObject([{ target, fragments: 1, keyIndex: null }]);
    expect([code, status.code, status.report.tables[0]?.reasons]).toEqual([
      0,
      0,
      ['Nothing is due and no task is open.'],
    ]);
  });
});

it.each([
  ['with numbers of JavaScript as id', 'KEY_COLUMN_MISSING', 'its column "id" is double, which cannot be a key'],
  ['with no id at all', 'KEY_COLUMN_MISSING', 'and has no column "id"'],
  ['with large text as id', 'KEY_TYPE_UNSUPPORTED', 'the key column "id": it is large_string'],
])('IndexId that is sent to a table %s says what is true, once', async (name, code, sentence) => {
  const folder = temporaryFolder();
  const [target, ledger] = await make(folder, tables[name] as never);
  const sent = await commandJson<SendReport>(['send', 'IndexId', target, '--wait', ...ledger]);

  expect(sent.code).toBe(1);
  expect(sent.report.task).toMatchObject({ state: 'failed', attempts: 1, error: { code, disposition: 'permanent' } });
  expect(sent.report.task.error?.message).toContain(sentence);
});
