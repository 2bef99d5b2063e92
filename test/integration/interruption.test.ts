import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../bin/lance-upkeep');

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upkeep-interrupted-'));
  await mkdir(join(folder, 'db'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('lance-upkeep run --watch', () => {
  it.each([
    ['SIGINT' as const, 130],
    ['SIGTERM' as const, 143],
  ])('goes on until %s, prints its report, and ends with %i', async (signal, expected) => {
    const child = spawn(launcher, ['run', join(folder, 'db'), '--watch', '--json'], {
      env: { ...process.env, HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    const ended = new Promise((resolve) => child.on('close', (code) => resolve(code)));
    try {
      await new Promise((resolve, reject) => {
        child.stderr.once('data', resolve);
        child.once('close', () => reject(new Error('it ended before it was interrupted')));
      });
      child.kill(signal);

      expect(await ended).toBe(expected);
      expect(JSON.parse(stdout)).toEqual({ schemaVersion: 1, tasks: [], tables: [], unreadable: [], leftOut: [] });
    } finally {
      child.kill('SIGKILL');
    }
  });
});
