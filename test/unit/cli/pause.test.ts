import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { type RunSetting, run as runIn } from './fake-plane.ts';

const PAUSE = { scope: null, by: 'ana@desk', reason: 'a restore', since: '2026-01-01T00:00:00.000Z' };

function run(words: readonly string[], setting: RunSetting = {}) {
  return runIn(words, { home: temporaryFolder(), ...setting });
}

/** A plane that notes what it is asked. */
function noting() {
  const asked: unknown[] = [];
  const plane = {
    pause: async (request: unknown) => {
      asked.push(request);
      return PAUSE;
    },
    resume: async (request: unknown) => void asked.push(request),
  };
  return { asked, plane };
}

describe('pause', () => {
  it('takes a table, a root, or everything, with who and why', async () => {
    const { asked, plane } = noting();
    const words = ['--reason', 'a restore', '--by', 'ana@desk'];
    expect((await run(['pause', 's3://lake/db/x.lance', ...words], { plane })).code).toBe(0);
    expect((await run(['pause', 's3://lake/db', ...words], { plane })).code).toBe(0);
    const all = await run(['pause', '--all', ...words, '--json'], { plane });

    expect(JSON.parse(all.stdout)).toEqual(PAUSE);
    expect(asked).toEqual([
      { scope: 's3://lake/db/x.lance', by: 'ana@desk', reason: 'a restore' },
      { scope: 's3://lake/db', by: 'ana@desk', reason: 'a restore' },
      { by: 'ana@desk', reason: 'a restore' },
    ]);
  });

  it('names the user and the machine when nobody is named', async () => {
    const { asked, plane } = noting();
    await run(['pause', '--all', '--reason', 'x'], { plane });
    expect(asked).toEqual([{ by: expect.stringMatching(/^.+@.+$/), reason: 'x' }]);
  });

  it.each([
    [['pause', '--reason', 'x']],
    [['pause', '', '--reason', 'x']],
    [['pause', 's3://lake/db', '--all', '--reason', 'x']],
    [['pause', '--all']],
    [['resume']],
  ])('%j is refused: everything has to be meant, and a reason given', async (words) => {
    const { asked, plane } = noting();
    expect((await run(words, { plane })).code).toBe(2);
    expect(asked).toEqual([]);
  });
});

describe('resume', () => {
  it('takes back what was paused', async () => {
    const { asked, plane } = noting();
    expect((await run(['resume', 's3://lake/db'], { plane })).code).toBe(0);
    expect((await run(['resume', '--all'], { plane })).code).toBe(0);
    expect(asked).toEqual([{ scope: 's3://lake/db' }, {}]);
  });
});

describe('status', () => {
  it('shows what is paused before the stores, with who, since when and why', async () => {
    const plane = { status: async () => ({ schemaVersion: 1, pauses: [PAUSE], stores: [], leftOut: [] }) };
    const { stdout } = await run(['status'], { plane });
    expect(stdout).toBe('paused: everything, since 2026-01-01T00:00:00.000Z by ana@desk: a restore\n');
  });
});
