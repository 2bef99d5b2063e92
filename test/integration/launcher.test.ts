import { execFile, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALLOCATOR_SETTINGS } from '../../src/allocator.ts';

const repository = join(import.meta.dirname, '../..');
const launcher = join(repository, 'bin/lance-upkeep');
// The tools that the launcher itself uses, without any Node.
const TOOLS = ['sh', 'dirname', 'readlink', 'env', 'cat', 'sleep'];

let folder: string;
let tools: string;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function execute(
  file: string,
  words: readonly string[],
  options: { cwd?: string; path?: string } = {},
): Promise<Ended> {
  const env = { ...process.env, PATH: options.path ?? process.env.PATH, HOME: folder };
  return new Promise((resolve) => {
    execFile(file, [...words], { cwd: options.cwd ?? folder, env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

async function whereIs(tool: string): Promise<string> {
  for (const place of (process.env.PATH ?? '').split(delimiter)) {
    const names: string[] = await readdir(place).catch(() => []);
    if (names.includes(tool)) return realpath(join(place, tool));
  }
  throw new Error(`${tool} is not on the PATH`);
}

async function writeProgram(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  await chmod(file, 0o755);
}

/** A package with the real launcher and an entry that says where it runs. */
async function makePackage(home: string, entry: string): Promise<string> {
  await mkdir(join(home, 'bin'), { recursive: true });
  await copyFile(launcher, join(home, 'bin/lance-upkeep'));
  await mkdir(dirname(join(home, entry)), { recursive: true });
  await writeFile(join(home, 'package.json'), '{"type":"module"}');
  await writeFile(join(home, entry), "process.stdout.write(JSON.stringify({ words: process.argv.slice(2) }) + '\\n');");
  return join(home, 'bin/lance-upkeep');
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'upkeep-launcher-')));
  tools = join(folder, 'tools');
  await mkdir(tools);
  for (const tool of TOOLS) await symlink(await whereIs(tool), join(tools, tool));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('bin/lance-upkeep in a clone', () => {
  it('runs the sources from any folder, through links to links, without Node on the PATH', async () => {
    await mkdir(join(folder, 'links'));
    await symlink(launcher, join(folder, 'links/first'));
    await symlink('first', join(folder, 'links/second'));
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));

    expect(await execute(join(folder, 'links/second'), ['--version'], { path: tools })).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  it('passes exit codes and errors on', async () => {
    const { code, stdout, stderr } = await execute(launcher, ['inspect', 'gone.lance', '--json']);

    expect({ code, stderr }).toEqual({ code: 5, stderr: '' });
    expect(JSON.parse(stdout).error.code).toBe('TABLE_NOT_FOUND');
  });

  it('ends quietly when nobody reads its output any more', async () => {
    const { code, stderr } = await execute('/bin/sh', ['-c', `"${launcher}" --help | true`]);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('answers --help without loading the native library', async () => {
    const preload = join(folder, 'watch.mjs');
    await writeFile(
      preload,
      "process.on('exit', () => { const loaded = process.report.getReport().sharedObjects.filter((name) => name.includes('lancedb')); process.stderr.write(JSON.stringify(loaded)); });",
    );
    const main = join(repository, 'src/cli/main.ts');
    const { stderr } = await execute(process.execPath, ['--import', preload, main, '--help']);

    expect(stderr).toBe('[]');
  });
});

describe('the launcher', () => {
  it('becomes the Node process itself, so that signals reach it', async () => {
    const home = join(folder, 'signals');
    const file = await makePackage(home, 'src/cli/main.ts');
    await writeFile(
      join(home, 'src/cli/main.ts'),
      'process.stdout.write(String(process.pid)); setInterval(() => {}, 1000);',
    );
    await mkdir(join(home, 'node_modules/node/bin'), { recursive: true });
    await symlink(process.execPath, join(home, 'node_modules/node/bin/node'));
    // A group of its own, so that a launcher that stays in between leaves nothing behind.
    const child = spawn(file, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    const ended = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));
    try {
      const pid = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(Number(data))));

      expect(pid).toBe(child.pid);
    } finally {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    }
    expect(await ended).toBe('SIGKILL');
  });

  it('keeps every word as it is', async () => {
    const file = await makePackage(join(folder, 'words'), 'src/cli/main.ts');
    const words = ['a b', '', '*', '$HOME', '--x=1'];
    const { stdout } = await execute(file, words, { path: `${dirname(process.execPath)}${delimiter}${tools}` });

    expect(JSON.parse(stdout).words).toEqual(words);
  });

  it('starts Node with an allocator that gives freed memory back, unless somebody has set it', async () => {
    const home = join(folder, 'arenas');
    const file = await makePackage(home, 'src/cli/main.ts');
    await writeFile(
      join(home, 'src/cli/main.ts'),
      `process.stdout.write(JSON.stringify([${Object.keys(ALLOCATOR_SETTINGS).map((name) => `process.env.${name}`)}]));`,
    );
    const path = `${dirname(process.execPath)}${delimiter}${tools}`;
    const started = (env: Record<string, string>) =>
      new Promise((resolve) =>
        execFile(file, { env: { PATH: path, ...env } }, (_, stdout) => resolve(JSON.parse(stdout))),
      );

    expect(await started({})).toEqual(Object.values(ALLOCATOR_SETTINGS));
    expect(await started({ MALLOC_ARENA_MAX: '8', MALLOC_MMAP_THRESHOLD_: '65536' })).toEqual(['8', '65536']);
  });

  it('runs the build of an installed package, even where sources lie beside it', async () => {
    const home = join(folder, 'app/node_modules/lance-upkeep');
    const file = await makePackage(home, 'dist/cli/main.js');
    await mkdir(join(home, 'src/cli'), { recursive: true });
    await writeFile(join(home, 'src/cli/main.ts'), "throw new Error('sources');");
    const { code, stdout } = await execute(file, ['x'], { path: `${dirname(process.execPath)}${delimiter}${tools}` });

    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"words":["x"]}\n' });
  });

  it('says which Node it needs when there is none, or only an old one', async () => {
    const file = await makePackage(join(folder, 'bare'), 'src/cli/main.ts');
    const old = join(folder, 'old');
    await writeProgram(join(old, 'node'), '#!/bin/sh\n[ "$1" = --version ] && echo v20.1.0 && exit 0\nexit 1\n');

    const none = await execute(file, [], { path: tools });
    const onlyOld = await execute(file, [], { path: `${old}${delimiter}${tools}` });

    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(/^error NODE_MISSING: Node 22\.18 or newer is needed.*\n {2}next: .+\n$/);
    expect(onlyOld).toMatchObject({ code: 1, stdout: '' });
    expect(onlyOld.stderr).toMatch(/^error NODE_TOO_OLD: .*old\/node \(v20\.1\.0\)\.\n {2}next: .+\n$/);
  });

  it('takes the Node on the PATH when the one in the clone is too old', async () => {
    const home = join(folder, 'stale');
    const file = await makePackage(home, 'src/cli/main.ts');
    await writeProgram(join(home, 'node_modules/node/bin/node'), '#!/bin/sh\nexit 1\n');
    const { code } = await execute(file, [], { path: `${dirname(process.execPath)}${delimiter}${tools}` });

    expect(code).toBe(0);
  });
});

describe('the packed package', () => {
  it('runs where it is installed, from its own build', async () => {
    const packed = await execute('npm', ['pack', '--pack-destination', folder, '--json'], { cwd: repository });
    expect(packed).toMatchObject({ code: 0 });
    const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
    const modules = join(folder, 'user/node_modules');
    await mkdir(join(modules, 'lance-upkeep'), { recursive: true });
    await execute('tar', [
      'xzf',
      join(folder, tarball ?? ''),
      '-C',
      join(modules, 'lance-upkeep'),
      '--strip-components=1',
    ]);
    for (const name of ['commander', 'zod', 'apache-arrow', '@lancedb']) {
      await symlink(join(repository, 'node_modules', name), join(modules, name));
    }
    const path = `${dirname(process.execPath)}${delimiter}${tools}`;
    const file = join(modules, 'lance-upkeep/bin/lance-upkeep');

    expect(await readdir(join(modules, 'lance-upkeep'))).not.toContain('src');
    expect(await execute(file, ['--version'], { path })).toMatchObject({ code: 0, stderr: '' });
    const demo = await execute(file, ['demo', 'made', '--json', '--quiet'], { path });
    expect({ code: demo.code, stderr: demo.stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(demo.stdout).tables).toHaveLength(10);
  });
});
