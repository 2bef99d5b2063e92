import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExplainReport, PrunePreview, SendRequest } from '../../../src/upkeep/reports.ts';
import { indexFacts } from '../../fixtures/facts.ts';
import { type RunSetting, run as runIn, taskReport } from './fake-upkeep.ts';

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

describe('status', () => {
  const table = {
    target: '/data/db/events.lance',
    facts: null,
    openTasks: [taskReport({ state: 'queued' })],
    attention: true,
  };
  const report = {
    schemaVersion: 1,
    pauses: [],
    tables: [{ ...table, reasons: ['IndexId cools down until 2026-01-02T03:14:05.000Z.'] }],
    leftOut: [],
  };

  it('ends with 3 when a table needs attention, in words as well as in colour', async () => {
    const { code, stdout } = await run(['status'], { upkeep: { status: async () => report } });

    expect(code).toBe(3);
    expect(stdout).toMatch(
      /events +attention .*Compact queued +never +IndexId cools down until 2026-01-02T03:14:05\.000Z\./,
    );
  });

  it('uses colour on a terminal, and none with --no-color', async () => {
    const setting = { upkeep: { status: async () => report }, isTTY: true };

    expect((await run(['status'], setting)).stdout).toContain('\u001b[31mattention\u001b[39m');
    expect((await run(['status', '--no-color'], setting)).stdout).not.toContain('\u001b[');
  });

  it('says whether nothing is connected or nothing is known', async () => {
    const upkeep = { status: async () => ({ schemaVersion: 1, pauses: [], tables: [], leftOut: [] }) };

    expect((await run(['status'], { upkeep })).stderr).toContain('Nothing is connected');
    expect((await run(['status', 'db'], { upkeep })).stderr).toContain(`knows no table under ${join(folder, 'db')}`);
  });

  it('asks for the named root only', async () => {
    const asked: (string | undefined)[] = [];
    const status = async (root?: string) => {
      asked.push(root);
      return report;
    };
    await run(['status', 'db'], { upkeep: { status } });
    await run(['status'], { upkeep: { status } });
    await run(['status'], { upkeep: { status }, env: { UPKEEP_ROOTS: `${join(folder, 'db')},${folder}` } });

    expect(asked).toEqual([join(folder, 'db'), undefined, undefined]);
  });
});

describe('explain', () => {
  const facts = {
    target: '/data/db/events.lance',
    observedAt: Date.parse('2026-01-02T03:04:05.000Z'),
    version: 7,
    versionTimestamp: 0,
    rows: 4_000,
    physicalRows: 4_000,
    deletedRows: 0,
    fragments: 40,
    smallFragments: 40,
    compactableFragments: 40,
    tooLargeFragments: 0,
    bytes: 1,
    keyColumn: 'id',
    keyIndex: null,
    indexes: [
      indexFacts({ name: 'words', kind: 'Inverted', columns: ['text'], segments: 2, rowsOutside: 40, outsideSince: 0 }),
    ],
    hold: null,
    wal: null,
  };
  const rule = {
    rule: 'fragments-small',
    kind: 'Compact',
    threshold: 16,
    value: 40,
    unit: 'fragments',
    due: true,
  } as const;
  const report: ExplainReport = {
    schemaVersion: 1,
    target: facts.target,
    facts,
    rules: [
      { ...rule, reason: '40 fragments are small.' },
      {
        ...rule,
        rule: 'deleted-share',
        threshold: 0.2,
        value: 0.12345,
        unit: 'share',
        due: false,
        reason: 'Few are deleted.',
      },
    ],
    plan: [{ kind: 'Compact', target: facts.target, reason: 'fragments-small' }],
    openTasks: [],
    reasons: ['No run is going on.'],
  };

  it('shows each rule with its value, threshold and rule, then the plan', async () => {
    const { code, stdout } = await run(['explain', table], { upkeep: { explain: async () => report } });

    expect(code).toBe(0);
    expect(stdout).toMatch(/fragments-small +Compact +40 +16 +fragments +due +40 fragments are small\./);
    expect(stdout).toMatch(/deleted-share +Compact +0\.123 +0\.2 +share +not due +Few are deleted\./);
    expect(stdout).toMatch(/words +Inverted +text +2 +40 \(1 %\) +1970-01-01T00:00:00\.000Z/);
    expect(stdout).toContain('plan\n  Compact: fragments-small\n');
    expect(stdout).toContain('- No run is going on.\n');
  });

  it('prints exactly the report as JSON', async () => {
    const { stdout } = await run(['explain', table, '--json'], { upkeep: { explain: async () => report } });

    expect(JSON.parse(stdout)).toEqual(report);
  });
});

describe('send', () => {
  const asked: { request: SendRequest; wait: boolean }[] = [];
  const sender = (task = taskReport({ state: 'queued', result: null })) => ({
    upkeep: {
      send: async (request: SendRequest, { wait }: { wait: boolean }) => {
        asked.push({ request, wait });
        return { schemaVersion: 1, taskId: task.id, joined: true, task };
      },
    },
  });

  it('prints the id alone on stdout, so that a script can depend on it', async () => {
    const { code, stdout, stderr } = await run(['send', 'Compact', table], sender());

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'task-1\n' });
    expect(stderr).toContain('Joined a task that was there already.');
  });

  it('passes on kind, dependencies, force and wait', async () => {
    asked.length = 0;
    await run(
      ['send', 'IndexId', table, '--depends-on', 'a', 'b', '--depends-on', 'c', '--force', '--wait'],
      sender(taskReport()),
    );

    expect(asked).toEqual([
      { request: { kind: 'IndexId', target: table, dependsOn: ['a', 'b', 'c'], force: true }, wait: true },
    ]);
  });

  it('ends with the outcome of the task when it waited', async () => {
    const error = { code: 'KEY_COLUMN_MISSING', message: 'no id', disposition: 'permanent' as const };
    const failed = taskReport({ state: 'failed', result: null, error });

    expect((await run(['send', 'Compact', table, '--wait'], sender(taskReport()))).code).toBe(0);
    const { code, stderr } = await run(['send', 'Compact', table, '--wait'], sender(failed));
    expect(code).toBe(1);
    expect(stderr).toContain('Compact is failed: KEY_COLUMN_MISSING: no id');
  });
});

describe('history', () => {
  const tasks = [taskReport({ id: 'b' }), taskReport({ id: 'a' })];
  const upkeep = { history: async () => ({ schemaVersion: 1, tasks, next: 'cursor-2' }) };

  it('prints one object with --json and one line a task with --jsonl', async () => {
    const whole = await run(['history', '--json', '--quiet'], { upkeep });
    const lines = await run(['history', '--jsonl', '--quiet'], { upkeep });

    expect(JSON.parse(whole.stdout)).toEqual({ schemaVersion: 1, tasks, next: 'cursor-2' });
    expect(
      lines.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(['b', 'a']);
  });

  it('tells how to get the next page, on stderr', async () => {
    const { stdout, stderr } = await run(['history'], { upkeep });

    expect(stdout).not.toContain('cursor-2');
    expect(stderr).toBe("More: lance-upkeep history --after 'cursor-2'\n");
  });

  it('passes on target, limit and cursor', async () => {
    const asked: unknown[] = [];
    const history = async (options: unknown) => {
      asked.push(options);
      return { schemaVersion: 1, tasks: [], next: null };
    };
    await run(['history', table, '--limit', '5', '--after', 'x'], { upkeep: { history } });
    await run(['history'], { upkeep: { history } });

    expect(asked).toEqual([{ target: table, limit: 5, after: 'x' }, { limit: 50 }]);
  });
});

describe('send Prune --dry-run', () => {
  const preview: PrunePreview = {
    schemaVersion: 1,
    target: '/data/db/events.lance',
    version: 2_000,
    versions: 2_000,
    prunableVersions: 1_300,
    retained: { head: 1, recent: 698, tagged: 1 },
    retentionMs: 604_800_000,
    retentionOf: 'settings',
    files: 2_600,
    bytes: 5_000_000,
    classes: {
      manifests: { files: 1_300, bytes: 2_000_000 },
      data: { files: 1_300, bytes: 2_500_000 },
      transactions: { files: 1_300, bytes: 500_000 },
    },
    orphans: 2,
    orphansTooYoung: 1,
    plan: { manifests: ['_versions/18446744073709551614.manifest'], files: ['data/a.lance'] },
  };

  it('prints what would go and why the rest stays, and asks for no task', async () => {
    const asked: string[] = [];
    const upkeep = {
      previewPrune: async (target: string) => {
        asked.push(target);
        return preview;
      },
    };
    const { code, stdout } = await run(['send', 'Prune', table, '--dry-run'], { upkeep });
    expect(code).toBe(0);
    expect(asked).toEqual([table]);
    expect(stdout).toContain('1,300 of 2,000 versions would be deleted');
    expect(stdout).toContain('retention 7 days (VERSION_RETENTION)');
    expect(stdout).toContain('1 the newest, 698 within the retention, 1 tagged');
    expect(stdout).toMatch(/data +1,300 /);
    const json = await run(['send', 'Prune', table, '--dry-run', '--json'], { upkeep });
    expect(JSON.parse(json.stdout)).toEqual(preview);
  });

  it.each([
    [['send', 'Compact', 'T', '--dry-run']],
    [['send', 'Prune', 'T', '--dry-run', '--wait']],
    [['send', 'Prune', 'T', '--dry-run', '--force']],
    [['send', 'Prune', 'T', '--dry-run', '--depends-on', 'x']],
  ])('is refused as %j', async (words) => {
    const { code, stderr } = await run(words.map((word) => (word === 'T' ? table : word)));
    expect(code).toBe(2);
    expect(stderr).toContain('--dry-run goes with Prune');
  });
});
