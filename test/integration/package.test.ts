import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPlainTable, rows } from '../fixtures/tables.ts';

const repository = join(import.meta.dirname, '../..');
const run = promisify(execFile);
// npm is a script that asks the PATH for a Node: it gets this one.
const environment = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}` };

let folder: string;
/** The folder of a program that has the packed product as its only dependency. */
let program: string;

/** Packs a copy of the sources, so that no build is left beside them, and unpacks it where a package manager would. */
async function installPackedProduct(): Promise<void> {
  const sources = join(folder, 'sources');
  const manifest = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const packed = ['src', 'tsconfig.json', 'tsconfig.build.json', 'package.json', ...manifest.files];
  for (const name of packed.filter((one) => one !== 'dist'))
    await cp(join(repository, name), join(sources, name), { recursive: true });
  await symlink(join(repository, 'node_modules'), join(sources, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: sources, env: environment });
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  program = join(folder, 'program');
  const installed = join(program, 'node_modules/lance-upkeep');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
  for (const name of Object.keys(manifest.dependencies)) {
    await mkdir(dirname(join(program, 'node_modules', name)), { recursive: true });
    await symlink(join(repository, 'node_modules', name), join(program, 'node_modules', name));
  }
  await symlink(join(repository, 'node_modules/@types'), join(program, 'node_modules/@types'));
  await writeFile(join(program, 'package.json'), '{"type":"module"}');
}

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'upkeep-package-')));
  await installPackedProduct();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the packed product', () => {
  it('runs the example of docs/embedding.md: one task sent and waited for, then a run of the root', async () => {
    const page = await readFile(join(program, 'node_modules/lance-upkeep/docs/embedding.md'), 'utf8');
    const example = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    await writeFile(join(program, 'example.js'), example);
    const root = join(folder, 'db');
    await createPlainTable(root, 'events', rows(0, 200, 1), 20);

    const words = [root, join(root, 'events.lance'), join(folder, 'ledger.sqlite')];
    const { stdout, stderr } = await run(process.execPath, ['example.js', ...words], {
      cwd: program,
      env: environment,
    });

    expect(JSON.parse(stdout)).toEqual({ sent: 'done', tables: 1, attention: false });
    expect(stderr).toContain('started');
  });

  it('brings types that a strict program compiles against', async () => {
    const text = [
      "import { openUpkeep, type InspectReport, loadSettings, UpkeepError } from 'lance-upkeep';",
      'export async function fragments(table: string): Promise<number> {',
      "  const upkeep = await openUpkeep({ roots: [], ledgerFile: 'x', settings: loadSettings({}) });",
      '  const report: InspectReport = await upkeep.inspect(table);',
      '  return report.fragments;',
      '}',
      '// @ts-expect-error an error needs its code',
      "export const wrong = new UpkeepError('why', {});",
    ].join('\n');
    await writeFile(join(program, 'program.ts'), text);
    const compiler = join(repository, 'node_modules/typescript/bin/tsc');
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];

    await expect(
      run(process.execPath, [compiler, ...options, 'program.ts'], { cwd: program, env: environment }),
    ).resolves.toMatchObject({ stdout: '' });
  });

  it('has the command, which runs the build', async () => {
    const command = join(program, 'node_modules/lance-upkeep/bin/lance-upkeep');
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));

    expect((await run(command, ['--version'], { env: environment })).stdout).toBe(`${version}\n`);
  });
});
