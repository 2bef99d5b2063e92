import { execFile } from 'node:child_process';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDemoFleet, checkDemoFleet, type DemoFleet } from '../../src/demo/fleet.ts';

const script = join(import.meta.dirname, '../../src/cli/start.ts');
const NAMES = [
  'fragmented',
  'sessions',
  'accounts',
  'orders',
  'images',
  'articles',
  'library',
  'abandoned',
  'archive',
  'healthy',
];

let folder: string;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(words: readonly string[] = []): Promise<Ended> {
  const env = { PATH: process.env.PATH, HOME: folder };
  const flags = ['--disable-warning=ExperimentalWarning', script, ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

/** The lines of the first table that begin with the name of a table, split into cells. */
function tableLines(stdout: string): Map<string, string[]> {
  const table = stdout.slice(stdout.indexOf('table '), stdout.indexOf('\nNext'));
  const rows = table.split('\n').map((line) => line.split(/ {2,}/));
  return new Map(rows.filter(([name]) => NAMES.includes(name ?? '')).map(([name, ...cells]) => [name ?? '', cells]));
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'upkeep-start-')));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('npm start', () => {
  it('builds the demo, heals every table and says what comes next', async () => {
    const { code, stdout, stderr } = await start();

    const lines = tableLines(stdout);
    const searches = new Map([
      ['articles', '4 of 8 wrong -> right'],
      ['library', 'right'],
      ['abandoned', 'right'],
    ]);
    expect([...lines].map(([name, cells]) => [name, ...cells.slice(-3)])).toEqual(
      NAMES.map((name) => [
        name,
        name === 'archive' ? 'as written, first-quarter too' : 'as written',
        searches.get(name) ?? '-',
        'yes',
      ]),
    );
    expect(lines.get('articles')?.slice(1, 4)).toEqual([
      '8',
      'BTree, 300 rows not covered -> BTree, all rows',
      '3, id_idx lacks 300 rows -> 3, all rows',
    ]);
    for (const name of ['library', 'abandoned'])
      expect(lines.get(name)?.slice(1, 4)).toEqual([
        expect.stringMatching(/^2[04] -> 1$/),
        'BTree, all rows',
        '3, all rows',
      ]);
    expect(lines.get('archive')?.at(-4)).toMatch(/^121 -> 10, \d{3} KiB given back$/);
    expect(lines.get('healthy')?.at(-4)).toBe('2');
    expect(lines.get('fragmented')?.[1]).toMatch(/^40 -> \d+$/);
    expect(lines.get('sessions')?.[4]).toBe('12 -> 0');
    expect(lines.get('accounts')?.[4]).toBe('10 -> 0');
    expect(lines.get('orders')?.[2]).toMatch(/^Bitmap, .* -> BTree, all rows$/);
    expect(
      stdout
        .slice(stdout.indexOf('\nNext\n'))
        .split('\n')
        .filter((line) => line.startsWith('  ')),
    ).toHaveLength(NAMES.length);
    expect(stdout).toContain('12 merged generations stay for GENERATION_RETENTION');
    expect(stderr).toContain('Every table is healed');
    expect(stderr).toMatch(/abandoned: A task died and left its hold on fragments behind/);
    expect(stderr).not.toMatch(/ERROR|WARN/);
    expect(code).toBe(0);
    expect(await readdir(folder)).toEqual(['.demo']);
  });

  it('makes its demo anew when it is started again', async () => {
    const { code, stdout } = await start();

    expect(code).toBe(0);
    expect(tableLines(stdout).get('sessions')?.[4]).toBe('12 -> 0');
  });
});

describe('npm start -- <folder>', () => {
  let fleet: DemoFleet;

  beforeAll(async () => {
    fleet = await buildDemoFleet(join(folder, 'mine'));
  });

  it('maintains the folder that is named and shows the same table', async () => {
    const { code, stdout } = await start([fleet.directory]);

    expect(code).toBe(0);
    expect(tableLines(stdout).get('sessions')?.[4]).toBe('12 -> 0');
    const checks = await checkDemoFleet(fleet);
    expect(checks.filter((check) => !check.everything.exact || !check.baseOnly.exact)).toEqual([]);
    expect(checks.find(({ name }) => name === 'archive')?.tagged?.exact).toBe(true);
    const files = await readdir(join(fleet.directory, 'archive.lance/_versions'));
    expect(files.filter((name) => name.endsWith('.manifest'))).toHaveLength(10);
  });

  it('changes nothing when it is run again', async () => {
    const { code, stdout, stderr } = await start([fleet.directory]);

    expect(code).toBe(0);
    expect([...tableLines(stdout).values()].flat().filter((cell) => cell.includes('->'))).toEqual([]);
    expect(stderr).toContain('nothing was due');
  });

  it('ends with 5 when there is no such folder', async () => {
    expect(await start(['not-there'])).toMatchObject({ code: 5, stdout: '' });
  });
});
