import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { holderGone, processIdentity } from '../../src/local/process-identity.ts';
import { createSqliteLedger } from '../../src/local/sqlite-ledger.ts';
import { createSqliteQueue } from '../../src/local/sqlite-queue.ts';
import { createLifecycle } from '../../src/tasks/lifecycle.ts';
import { systemClock } from '../../src/tasks/system-clock.ts';
import { SETTINGS } from './settings.ts';

const TARGET = '/data/db/shared.lance';

describe('several processes on one SQLite file', () => {
  let folder: string;
  let file: string;
  const children: ChildProcess[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'upkeep-ledger-'));
    file = join(folder, 'ledger.db');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await kill(child);
    rmSync(folder, { recursive: true, force: true });
  });

  function start(...values: string[]): { child: ChildProcess; output: () => string } {
    const script = join(import.meta.dirname, 'sqlite-claimer.ts');
    const child = spawn(process.execPath, [script, file, ...values], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    return { child, output: () => text };
  }

  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  function open() {
    const ledger = createSqliteLedger({ file, clock: systemClock });
    const queue = createSqliteQueue({ file, clock: systemClock });
    const parts = {
      ledger,
      queue,
      clock: systemClock,
      settings: SETTINGS,
      random: Math.random,
      newId: () => crypto.randomUUID(),
    };
    const lifecycle = createLifecycle({ ...parts, holderGone });
    return { ledger, queue, lifecycle };
  }

  it('three processes that claim the same table never share a token, and lose nothing', async () => {
    const runs = [start('60'), start('60'), start('60')];
    const codes = await Promise.all(runs.map(async ({ child }) => (await once(child, 'exit'))[0] as number));
    expect(codes).toEqual([0, 0, 0]);
    const tokens = runs.flatMap(({ output }) => output().split('\n').filter(Boolean).map(Number));
    expect(tokens.length).toBeGreaterThan(0);
    expect(new Set(tokens).size).toBe(tokens.length);
    const { ledger, queue, lifecycle } = open();
    expect(await lifecycle.leaseOf(TARGET)).toBeUndefined();
    const lease = await ledger.get({ pk: `TABLE#${TARGET}`, sk: 'LEASE' });
    expect(lease?.attributes.token).toBe(tokens.length);
    ledger.close();
    queue.close();
  });

  it('a process that is killed while it holds a lease is taken over at once', async () => {
    const { child, output } = start('1', 'hold');
    while (!output().includes('held')) await new Promise((resolve) => setTimeout(resolve, 20));
    const { ledger, queue, lifecycle } = open();
    const { taskId } = await lifecycle.admit({ taskId: 'mine', kind: 'MergeWal', target: TARGET });
    const claim = () => lifecycle.claim({ taskId, claimId: crypto.randomUUID(), holder: processIdentity() });
    expect((await claim()).outcome).toBe('busy');
    await kill(child);
    expect((await claim()).outcome).toBe('claimed');
    expect(await lifecycle.getTask(`${child.pid}-0`)).toMatchObject({
      state: 'queued',
      error: { code: 'HOLDER_LOST' },
    });
    ledger.close();
    queue.close();
  });

  it('what a process wrote is there for the next, and records it did not handle come again', async () => {
    const first = open();
    await first.lifecycle.admit({ taskId: 'a', kind: 'Compact', target: TARGET });
    const { records } = await first.ledger.feed.read(10);
    first.ledger.close();
    first.queue.close();
    const second = open();
    expect(await second.lifecycle.getTask('a')).toMatchObject({ state: 'queued' });
    expect((await second.ledger.feed.read(10)).records).toEqual(records);
    second.ledger.close();
    second.queue.close();
  });

  it('a write waits for another process that is writing, and is not lost', async () => {
    const { ledger, queue } = open();
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    const written = queue.send({ kind: 'Compact', body: 'patient' });
    setTimeout(() => other.exec('COMMIT'), 400);
    await written;
    expect(await queue.visible('Compact')).toBe(1);
    other.close();
    ledger.close();
    queue.close();
  });

  it('a file that is no ledger, another program’s database (untouched), one in no folder, one of a newer release and one from before the first are refused with what to do', () => {
    const notOne = join(folder, 'text.db');
    writeFileSync(notOne, 'This is a text and has always been one, of more than a hundred bytes or so.'.repeat(20));
    const newer = join(folder, 'newer.db');
    const database = new DatabaseSync(newer);
    database.exec('PRAGMA user_version = 99');
    database.close();
    const older = join(folder, 'older.db');
    const old = new DatabaseSync(older);
    old.exec('PRAGMA user_version = 1');
    old.close();
    const openFile = (name: string) => () => createSqliteLedger({ file: name, clock: systemClock });
    for (const journal of ['DELETE', 'WAL']) {
      const foreign = join(folder, `foreign-${journal}.db`);
      const other = new DatabaseSync(foreign);
      other.exec(
        `PRAGMA journal_mode = ${journal}; CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')`,
      );
      other.close();
      const before = { bytes: readFileSync(foreign), beside: readdirSync(folder) };
      expect(openFile(foreign)).toThrow(
        expect.objectContaining({ code: 'LEDGER_NOT_OPENED', message: expect.stringContaining('bookmarks') }),
      );
      expect({ bytes: readFileSync(foreign), beside: readdirSync(folder) }).toEqual(before);
    }
    expect(openFile(notOne)).toThrow(expect.objectContaining({ code: 'LEDGER_NOT_OPENED', disposition: 'permanent' }));
    expect(openFile(join(folder, 'none', 'x.db'))).toThrow(expect.objectContaining({ code: 'LEDGER_NOT_OPENED' }));
    expect(openFile(newer)).toThrow(expect.objectContaining({ code: 'LEDGER_SCHEMA_NEWER' }));
    expect(openFile(older)).toThrow(expect.objectContaining({ code: 'LEDGER_SCHEMA_OLDER' }));
  });
});

describe('the identity of a process', () => {
  it('this process is not gone, and neither is one of another host', () => {
    expect(holderGone(processIdentity())).toBe(false);
    expect(holderGone('another-host|1|proc:x:1')).toBe(false);
    expect(holderGone('nonsense')).toBe(false);
  });

  it('a pid that was used again by a later process is notified from the first', () => {
    const [host, pid, start, namespace] = processIdentity().split('|');
    const before = `${start?.slice(0, -1)}${start?.endsWith('1') ? '2' : '1'}`;
    expect(holderGone([host, pid, before, namespace].join('|'))).toBe(true);
  });

  it('a process that has ended is gone', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    const [host, , , namespace] = processIdentity().split('|');
    await once(child, 'exit');
    expect(holderGone([host, child.pid, 'proc:x:1', namespace].join('|'))).toBe(true);
    // A container with the same host name sees other processes under other numbers.
    expect(holderGone([host, child.pid, 'proc:x:1', 'pid:[1]'].join('|'))).toBe(false);
  });
});
