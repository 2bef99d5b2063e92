import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { type RunSetting, run as runIn } from '../fake-upkeep.ts';

const PAUSE = { scope: null, by: 'ana@desk', reason: 'a restore', since: '2026-01-01T00:00:00.000Z' };

function run(words: readonly string[], setting: RunSetting = {}) {
  return runIn(words, { home: temporaryFolder(), ...setting });
}

/** A upkeep that notes what it is asked. */
function noting() {
  const asked: unknown[] = [];
  const upkeep = {
    pause: async (request: unknown) => {
      asked.push(request);
      return PAUSE;
    },
    resume: async (request: unknown) => void asked.push(request),
  };
  return { asked, upkeep };
}

describe('pause', () => {
  it('takes a table, a root, or everything, with who and why', async () => {
    const { asked, upkeep } = noting();
    const words = ['--reason', 'a restore', '--by', 'ana@desk'];
    expect((await run(['pause', 's3://lake/db/x.lance', ...words], { upkeep })).code).toBe(0);
    expect((await run(['pause', 's3://lake/db', ...words], { upkeep })).code).toBe(0);
    const all = await run(['pause', '--all', ...words, '--json'], { upkeep });

    expect(JSON.parse(all.stdout)).toEqual(PAUSE);
    expect(asked).toEqual([
      { scope: 's3://lake/db/x.lance', by: 'ana@desk', reason: 'a restore' },
      { scope: 's3://lake/db', by: 'ana@desk', reason: 'a restore' },
      { by: 'ana@desk', reason: 'a restore' },
    ]);
  });

  it('names the user and the machine when nobody is named', async () => {
    const { asked, upkeep } = noting();
    await run(['pause', '--all', '--reason', 'x'], { upkeep });
    expect(asked).toEqual([{ by: expect.stringMatching(/^.+@.+$/), reason: 'x' }]);
  });

  it.each([
    [['pause', '--reason', 'x']],
    [['pause', '', '--reason', 'x']],
    [['pause', 's3://lake/db', '--all', '--reason', 'x']],
    [['pause', '--all']],
    [['resume']],
  ])('%j is refused: everything has to be meant, and a reason given', async (words) => {
    const { asked, upkeep } = noting();
    expect((await run(words, { upkeep })).code).toBe(2);
    expect(asked).toEqual([]);
  });
});

describe('resume', () => {
  it('takes back what was paused', async () => {
    const { asked, upkeep } = noting();
    expect((await run(['resume', 's3://lake/db'], { upkeep })).code).toBe(0);
    expect((await run(['resume', '--all'], { upkeep })).code).toBe(0);
    expect(asked).toEqual([{ scope: 's3://lake/db' }, {}]);
  });
});

describe('status', () => {
  it('shows what is paused before the tables, with who, since when and why', async () => {
    const upkeep = { status: async () => ({ schemaVersion: 1, pauses: [PAUSE], tables: [], leftOut: [] }) };
    const { stdout } = await run(['status'], { upkeep });
    expect(stdout).toBe('paused: everything, since 2026-01-01T00:00:00.000Z by ana@desk: a restore\n');
  });
});
