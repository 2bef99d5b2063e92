import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodeForError } from '../../../src/cli/exit-codes.ts';

const repository = join(import.meta.dirname, '../../..');
const page = readFileSync(join(repository, 'docs/cli.md'), 'utf8');

/** Code and exit code of each row in the page's table of errors. */
const documented = new Map(
  [...page.matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) \| (\d+) \|/gm)].flatMap(([, codes, exit]) =>
    [...(codes ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, code]) => [code ?? '', Number(exit)] as const),
  ),
);

function filesIn(folder: string): string[] {
  return readdirSync(join(repository, folder)).map((name) => join(folder, name));
}

const sources = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  .map((name) => join('src', name))
  .concat(['lambdas', 'infra', 'infra/packaging'].flatMap((folder) => filesIn(folder)))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(repository, name), 'utf8'))
  .join('\n');

/** Each code that an error is made with, as the sources spell it. */
function codesInSources(): Set<string> {
  const lines = [...sources.matchAll(/\bcode: ([^\n]*)|WorkError\(\s*([^\n,]*)/g)].map(([line]) => line);
  return new Set(lines.flatMap((line) => [...line.matchAll(/'([A-Z][A-Z_]{3,})'/g)].map(([, code]) => code ?? '')));
}

describe('docs/cli.md', () => {
  it('names every error code of the sources', () => {
    const codes = codesInSources();

    expect(codes.size).toBeGreaterThan(30);
    expect([...codes].filter((code) => !documented.has(code))).toEqual([]);
  });

  it('names no error code that is gone', () => {
    expect([...documented.keys()].filter((code) => !sources.includes(`'${code}'`))).toEqual([]);
  });

  it('gives each code the exit code that it has', () => {
    const wrong = [...documented].filter(([code, exit]) => {
      const possible = (['contention', 'failure', 'permanent'] as const).map((disposition) =>
        exitCodeForError({ code, disposition }),
      );
      return !possible.includes(exit as never);
    });

    expect(wrong).toEqual([]);
  });
});
