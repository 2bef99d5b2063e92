import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UpkeepError } from '../../../src/errors.ts';
import type { RunReport } from '../../../src/upkeep/reports.ts';
import { inspectReport, type RunSetting, run as runIn, taskReport } from './fake-upkeep.ts';

let folder: string;
let table: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'upkeep-cli-')));
  table = join(folder, 'db', 'events.lance');
  await mkdir(table, { recursive: true });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const run = (words: readonly string[], setting: RunSetting = {}) =>
  runIn(words, { cwd: folder, home: folder, ...setting });

const runReport: RunReport = {
  schemaVersion: 1,
  tasks: [taskReport()],
  tables: [inspectReport({ fragments: 1 })],
  unreadable: [],
  leftOut: [],
};

describe('help and usage', () => {
  it.each([[], ['run'], ['inspect'], ['status'], ['explain'], ['send'], ['history'], ['demo']])(
    'ends the help of "%s" with examples',
    async (...command) => {
      const { code, stdout, stderr } = await run([...command, '--help']);

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.slice(stdout.lastIndexOf('Examples:'))).toMatch(/^Examples:\n( {2}(?! ).*lance-upkeep.*\n)+$/);
    },
  );

  it('prints the version on stdout', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: '1.2.3\n', stderr: '' });
  });

  it('shows what there is when no command is given', async () => {
    const { code, stdout, stderr } = await run([]);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('history [options] [target]');
    expect(stderr).toContain('error USAGE: No command was given.');
  });

  it.each([
    ['an unknown command', ['compactify']],
    ['an unknown option', ['run', '/db', '--fast']],
    ['an unknown kind', ['send', 'Vacuum', '/db/x.lance']],
    ['a missing target', ['inspect']],
    ['one word too many', ['inspect', 'a.lance', 'b.lance']],
    ['--once beside --watch', ['run', '/db', '--once', '--watch']],
    ['a limit of none', ['history', '--limit', '0']],
    ['a limit that is no number', ['history', '--limit', 'ten']],
    ['no root anywhere', ['run']],
    ['".." in a target', ['inspect', '/db/../x.lance']],
  ])('refuses %s with exit code 2 before anything is opened', async (_, words) => {
    const { code, stdout, stderr, opened } = await run(words);

    expect({ code, stdout, opened }).toEqual({ code: 2, stdout: '', opened: undefined });
    expect(stderr).toMatch(/^error [A-Z_]+: .+\n {2}next: .+\n$/);
  });

  it('refuses a setting with a typo and names the right one', async () => {
    const { code, stderr, opened } = await run(['run', 'db'], { env: { MIN_FRAGMENT: '4' } });

    expect({ code, opened }).toEqual({ code: 2, opened: undefined });
    expect(stderr).toContain('error SETTING_UNKNOWN');
    expect(stderr).toContain('MIN_FRAGMENTS');
  });
});

describe('errors', () => {
  const gone = new UpkeepError('There is no table.', {
    code: 'TABLE_NOT_FOUND',
    disposition: 'permanent',
    next: 'Look.',
  });
  const failing = { upkeep: { inspect: () => Promise.reject(gone) } };

  it('come as a screen on stderr, with nothing on stdout', async () => {
    expect(await run(['inspect', table], failing)).toMatchObject({
      code: 5,
      stdout: '',
      stderr: 'error TABLE_NOT_FOUND: There is no table.\n  next: Look.\n',
    });
  });

  it('come as one object on stdout with --json', async () => {
    const { code, stdout, stderr } = await run(['inspect', table, '--json'], failing);

    expect({ code, stderr }).toEqual({ code: 5, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      schemaVersion: 1,
      error: { code: 'TABLE_NOT_FOUND', message: 'There is no table.', next: 'Look.' },
    });
  });

  it.each([[['send', 'Vacuum', '/db/x.lance', '--json']], [['history', '--jsonl', '--limit', '0']]])(
    'come as an object even when the command line itself was wrong',
    async (words) => {
      const { code, stdout, stderr } = await run(words);

      expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
      expect(JSON.parse(stdout).error.code).toBe('USAGE');
    },
  );

  it('show their stack only with --debug', async () => {
    expect((await run(['inspect', table], failing)).stderr).not.toContain('    at ');
    expect((await run(['inspect', table, '--debug'], failing)).stderr).toContain('    at ');
  });

  it('that nobody foresaw say how to report them', async () => {
    const { code, stderr } = await run(['inspect', table], {
      upkeep: { inspect: () => Promise.reject(new Error('boom')) },
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/error UNEXPECTED: Error: boom\n {2}next: .*--debug/);
  });

  it('do not keep the upkeep open', async () => {
    let closed = 0;
    const close = async () => {
      closed += 1;
    };
    await run(['inspect', table], { upkeep: { ...failing.upkeep, close } });

    expect(closed).toBe(1);
  });
});

describe('inspect', () => {
  it('prints exactly the report as JSON', async () => {
    const report = inspectReport({ target: table });
    const { code, stdout, opened } = await run(['inspect', table, '--json'], {
      upkeep: { inspect: async () => report },
    });

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(report);
    expect(stdout.endsWith('}\n')).toBe(true);
    expect(opened?.roots).toEqual([join(folder, 'db')]);
  });

  it('asks the upkeep for the absolute target', async () => {
    const asked: string[] = [];
    const inspect = async (target: string) => {
      asked.push(target);
      return inspectReport();
    };
    await run(['inspect', 'db/events.lance'], { upkeep: { inspect } });

    expect(asked).toEqual([table]);
  });

  it('keeps its ledger in the state folder, which it makes, unless --ledger names another', async () => {
    const upkeep = { inspect: async () => inspectReport() };
    const first = await run(['inspect', table], { upkeep });
    const second = await run(['inspect', table, '--ledger', 'deep/mine.sqlite'], { upkeep });

    expect(first.opened?.ledgerFile).toBe(join(folder, '.local/state/lance-upkeep/ledger.sqlite'));
    expect(await readdir(join(folder, '.local/state'))).toEqual(['lance-upkeep']);
    expect(second.opened?.ledgerFile).toBe(join(folder, 'deep/mine.sqlite'));
  });
});

describe('run', () => {
  const upkeep = { run: async () => runReport, inspect: async () => inspectReport() };

  it('prints exactly the report as JSON', async () => {
    const { code, stdout, stderr, opened } = await run(['run', 'db', '--json'], { upkeep });

    expect({ code, stderr, roots: opened?.roots }).toEqual({ code: 0, stderr: '', roots: [join(folder, 'db')] });
    expect(JSON.parse(stdout)).toEqual(runReport);
  });

  it('is --once unless --watch is given', async () => {
    const asked: boolean[] = [];
    const remember = async ({ once }: { once: boolean }) => {
      asked.push(once);
      return runReport;
    };
    for (const words of [[], ['--once'], ['--watch']])
      await run(['run', 'db', ...words], { upkeep: { ...upkeep, run: remember } });

    expect(asked).toEqual([true, true, false]);
  });

  const findTables = async () => ['/data/db/events.lance'];

  it('shows each task and the tables before and after', async () => {
    const { stdout, stderr } = await run(['run', 'db'], { upkeep: { ...upkeep, findTables } });

    expect(stdout).toMatch(/task-1 +Compact +events +done +1 +1\.5 s/);
    expect(stdout).toMatch(/events +7 +40 -> 1 /);
    expect(stderr).toBe('1 table, 1 task: 1 done, 0 failed.\n');
  });

  it('takes its roots from UPKEEP_ROOTS when none is named', async () => {
    const { opened } = await run(['run', '--json'], { upkeep, env: { UPKEEP_ROOTS: join(folder, 'db') } });

    expect(opened?.roots).toEqual([join(folder, 'db')]);
  });

  it('names each table that could not be read, and ends with 4 when others could', async () => {
    const error = { code: 'MANIFEST_UNREADABLE', message: 'cut off', disposition: 'permanent' as const };
    const report = { ...runReport, unreadable: [{ target: '/data/db/bad.lance', error }] };
    const { code, stdout } = await run(['run', 'db'], { upkeep: { ...upkeep, run: async () => report } });

    expect(code).toBe(4);
    expect(stdout).toContain('unreadable /data/db/bad.lance: MANIFEST_UNREADABLE: cut off\n');
  });

  it('says so when there is no table', async () => {
    const empty = { ...runReport, tasks: [], tables: [] };
    const { code, stdout, stderr } = await run(['run', 'db'], { upkeep: { run: async () => empty } });

    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain(`No table was found under ${join(folder, 'db')}`);
  });

  it('goes on when a table cannot be inspected before the run', async () => {
    const unreadable = new UpkeepError('cut off', { code: 'MANIFEST_UNREADABLE', disposition: 'permanent' });
    const setting = {
      upkeep: { ...upkeep, findTables, inspect: () => Promise.reject(unreadable) },
    };

    expect(await run(['run', 'db'], setting)).toMatchObject({ code: 0 });
  });

  it.each([
    ['SIGINT' as const, 130],
    ['SIGTERM' as const, 143],
  ])('stops on %s after the leases are released, and ends with %i', async (signal, expected) => {
    const order: string[] = [];
    let interrupt: (signal: 'SIGINT' | 'SIGTERM') => void = () => undefined;
    const until = async ({ signal: stop }: { signal: AbortSignal }) => {
      setTimeout(() => interrupt(signal), 1);
      await new Promise((resolve) => stop.addEventListener('abort', resolve));
      order.push('released');
      return { ...runReport, tasks: [] };
    };
    const { code, stderr, exitedNow } = await run(['run', 'db', '--watch'], {
      upkeep: { ...upkeep, run: until, close: async () => void order.push('closed') },
      interrupter: (play) => {
        interrupt = play;
      },
    });

    expect({ code, order, exitedNow }).toEqual({ code: expected, order: ['released', 'closed'], exitedNow: [] });
    expect(stderr).toContain('releasing leases');
  });

  it('ends at once on the second Ctrl-C', async () => {
    let interrupt: (signal: 'SIGINT' | 'SIGTERM') => void = () => undefined;
    const stuck = async () => {
      interrupt('SIGINT');
      interrupt('SIGINT');
      return runReport;
    };
    const { exitedNow } = await run(['run', 'db'], {
      upkeep: { ...upkeep, run: stuck },
      interrupter: (play) => {
        interrupt = play;
      },
    });

    expect(exitedNow).toEqual([130]);
  });
});
