import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { CommandContext, InterruptionSignal, OpenUpkeepOptions } from '../../../src/cli/context.ts';
import type { Operator, Runner } from '../../../src/upkeep/operator.ts';
import { type InspectReport, SCHEMA_VERSION, type TaskReport } from '../../../src/upkeep/reports.ts';

export function inspectReport(over: Partial<InspectReport> = {}): InspectReport {
  return {
    schemaVersion: SCHEMA_VERSION,
    target: '/data/db/events.lance',
    version: 7,
    rows: 4_000,
    fragments: 40,
    smallFragments: 40,
    bytes: 1_536,
    keyColumn: 'id',
    keyIndex: null,
    indexes: [],
    hold: null,
    wal: null,
    versions: null,
    error: null,
    ...over,
  };
}

export function taskReport(over: Partial<TaskReport> = {}): TaskReport {
  return {
    id: 'task-1',
    kind: 'Compact',
    target: '/data/db/events.lance',
    state: 'done',
    reasons: ['fragments-small'],
    dependsOn: [],
    attempts: 1,
    result: {
      rewroteNothing: false,
      versionBefore: 7,
      versionAfter: 9,
      metrics: {},
      compaction: {
        fragmentsRemoved: 40,
        fragmentsAdded: 1,
        bytesRead: 1_536,
        bytesWritten: 2_048,
        durationMs: 1_200,
        versionBefore: 7,
        versionAfter: 9,
        strategy: 'optimize',
      },
      proof: {},
    },
    error: null,
    createdAt: '2026-01-02T03:04:05.000Z',
    startedAt: '2026-01-02T03:04:06.000Z',
    endedAt: '2026-01-02T03:04:07.500Z',
    notBefore: null,
    ...over,
  };
}

function notExpected(name: string): () => Promise<never> {
  return () => Promise.reject(new Error(`${name} was not expected`));
}

/** An upkeep of which a test says only what it needs; every other call fails. */
export function fakeUpkeep(over: Partial<Operator & Runner> = {}): Operator & Runner {
  return {
    run: notExpected('run'),
    findTables: async () => [],
    inspect: notExpected('inspect'),
    status: notExpected('status'),
    explain: notExpected('explain'),
    previewPrune: notExpected('previewPrune'),
    send: notExpected('send'),
    history: notExpected('history'),
    deadLetters: notExpected('deadLetters'),
    redrive: notExpected('redrive'),
    deleteDeadLetter: notExpected('deleteDeadLetter'),
    pause: notExpected('pause'),
    resume: notExpected('resume'),
    close: async () => undefined,
    ...over,
  };
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What it was opened with; undefined when the command did not get that far. */
  readonly opened: OpenUpkeepOptions | undefined;
  readonly exitedNow: number[];
}

export interface RunSetting {
  readonly upkeep?: Partial<Operator & Runner>;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly home?: string;
  readonly isTTY?: boolean;
  /** Gets the function that plays Ctrl-C. */
  readonly interrupter?: (interrupt: (signal: InterruptionSignal) => void) => void;
}

/** Runs one command line in memory. Its ledger path lies in the folder that `home` or the words name. */
export async function run(words: readonly string[], setting: RunSetting = {}): Promise<Ran> {
  const written = { stdout: '', stderr: '' };
  const exitedNow: number[] = [];
  let opened: OpenUpkeepOptions | undefined;
  let handler: ((signal: InterruptionSignal) => void) | undefined;
  const output = (name: 'stdout' | 'stderr') => ({
    isTTY: setting.isTTY === true,
    columns: 200,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const context: CommandContext = {
    stdout: output('stdout'),
    stderr: output('stderr'),
    env: setting.env ?? {},
    cwd: setting.cwd ?? '/',
    home: setting.home ?? '/nowhere',
    version: '1.2.3',
    openUpkeep: async (options) => {
      opened = options;
      return fakeUpkeep(setting.upkeep);
    },
    openStack: notExpected('openStack'),
    onInterruption: (handle) => {
      handler = handle;
      return () => {
        handler = undefined;
      };
    },
    exitNow: (code) => {
      exitedNow.push(code);
    },
  };
  setting.interrupter?.((signal) => handler?.(signal));
  const code = await runCommandLine(words, context);
  return { code, ...written, opened, exitedNow };
}
