import { describe, expect, it } from 'vitest';
import type { DeadLetterReport } from '../../../../src/upkeep/reports.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { type RunSetting, run as runIn } from '../fake-upkeep.ts';

const LETTERS: DeadLetterReport = {
  schemaVersion: 1,
  deadLetters: [
    {
      messageId: 'abc',
      queue: 'Compact',
      code: 'MESSAGE_NOT_JSON',
      message: 'The message body is not JSON.',
      body: '{"kind"',
      deadAt: '2026-01-01T00:00:00.000Z',
    },
  ],
};

function run(words: readonly string[], setting: RunSetting = {}) {
  return runIn(['dlq', ...words], { home: temporaryFolder(), ...setting });
}

describe('dlq', () => {
  it('lists dead letters with their reasons and asks for attention', async () => {
    const asked: unknown[] = [];
    const upkeep = {
      deadLetters: async (options: unknown) => {
        asked.push(options);
        return LETTERS;
      },
    };
    const { code, stdout } = await run(['list', '--queue', 'Compact', '--limit', '7'], { upkeep });

    expect(code).toBe(3);
    expect(asked).toEqual([{ queue: 'Compact', limit: 7 }]);
    expect(stdout).toMatch(
      /^id +queue +since +code +reason\nabc +Compact +2026-01-01T00:00:00\.000Z +MESSAGE_NOT_JSON +The message/,
    );
  });

  it('is fine with none, and says so', async () => {
    const upkeep = { deadLetters: async () => ({ schemaVersion: 1, deadLetters: [] }) };

    expect(await run(['list'], { upkeep })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There are no dead letters.\n',
    });
    expect(JSON.parse((await run(['list', '--json'], { upkeep })).stdout)).toEqual({
      schemaVersion: 1,
      deadLetters: [],
    });
  });

  it('shows one with its body', async () => {
    const upkeep = { deadLetters: async () => LETTERS };

    expect((await run(['show', 'abc'], { upkeep })).stdout).toContain('\n{"kind"\n');
    expect(JSON.parse((await run(['show', 'abc', '--json'], { upkeep })).stdout)).toMatchObject({
      messageId: 'abc',
      schemaVersion: 1,
    });
    expect(await run(['show', 'other'], { upkeep })).toMatchObject({ code: 5, stdout: '' });
  });

  it('redrives one, or says that it is not there', async () => {
    const upkeep = { redrive: async (id: string) => id === 'abc' };

    expect((await run(['redrive', 'abc'], { upkeep })).code).toBe(0);
    const missing = await run(['redrive', 'other'], { upkeep });
    expect(missing.code).toBe(5);
    expect(missing.stderr).toContain('DEAD_LETTER_NOT_FOUND');
  });

  it.each([['list', '--limit', '0'], ['list', '--queue', 'Vacuum'], ['show'], ['redrive']])(
    'refuses %s %s %s',
    async (...words) => {
      expect((await run(words.filter((word) => word !== undefined))).code).toBe(2);
    },
  );
});

describe('the choice of the upkeep', () => {
  it('is the stack when one is named or its table is in the environment, and the file when a ledger is', async () => {
    const upkeep = { status: async () => ({ schemaVersion: 1, pauses: [], tables: [], leftOut: [] }) };
    const opened = async (words: string[], env: Record<string, string>) => {
      const ran = await runIn(['status', ...words], { home: temporaryFolder(), env, upkeep });
      return ran.opened === undefined ? 'stack' : 'file';
    };

    expect(await opened([], {})).toBe('file');
    expect(await opened(['--stack', 'upkeep'], {})).toBe('stack');
    expect(await opened([], { UPKEEP_STACK: 'upkeep' })).toBe('stack');
    expect(await opened([], { UPKEEP_TABLE: 'ledger' })).toBe('stack');
    expect(await opened(['--ledger', `${temporaryFolder()}/l.sqlite`], { UPKEEP_STACK: 'upkeep' })).toBe('file');
  });
});
