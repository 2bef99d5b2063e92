import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { CommandContext, InterruptionSignal, OpenPlaneOptions } from '../../../src/cli/context.ts';
import { type InspectReport, type Plane, SCHEMA_VERSION, type TaskReport } from '../../../src/plane.ts';

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
        way: 'optimize',
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

/** A plane of which a test says only what it needs; every other call fails. */
export function fakePlane(over: Partial<Plane> = {}): Plane {
  return {
    run: notExpected('run'),
    inspect: notExpected('inspect'),
    status: notExpected('status'),
    explain: notExpected('explain'),
    previewPrune: notExpected('previewPrune'),
    send: notExpected('send'),
    history: notExpected('history'),
    deadLetters: notExpected('deadLetters'),
    redrive: notExpected('redrive'),
    deleteLetter: notExpected('deleteLetter'),
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
  /** What the plane was opened with; undefined when the command did not get that far. */
  readonly opened: OpenPlaneOptions | undefined;
  readonly exitedNow: number[];
}

export interface RunSetting {
  readonly plane?: Partial<Plane>;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly home?: string;
  readonly isTTY?: boolean;
  readonly tables?: readonly string[];
  /** Gets the function that plays Ctrl-C. */
  readonly interrupter?: (interrupt: (signal: InterruptionSignal) => void) => void;
}

/** Runs one command line in memory. Its ledger path lies in the folder that `home` or the words name. */
export async function run(words: readonly string[], setting: RunSetting = {}): Promise<Ran> {
  const written = { stdout: '', stderr: '' };
  const exitedNow: number[] = [];
  let opened: OpenPlaneOptions | undefined;
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
    openPlane: async (options) => {
      opened = options;
      return fakePlane(setting.plane);
    },
    openStackPlane: notExpected('openStackPlane'),
    findTables: async () => setting.tables ?? [],
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
