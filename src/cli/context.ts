import type { Settings } from '../config.ts';
import type { Operator, Runner } from '../upkeep/operator.ts';
import type { ProgressEvent } from '../upkeep/reports.ts';

/** One of the two output streams. */
export interface Output {
  readonly isTTY: boolean;
  /** Width of the terminal; undefined when there is none. */
  readonly columns?: number | undefined;
  write(text: string): void;
}

export interface OpenUpkeepOptions {
  readonly roots: readonly string[];
  readonly ledgerFile: string;
  readonly settings: Settings;
  readonly onProgress?: (event: ProgressEvent) => void;
}

export interface OpenStackOptions {
  /** Name of the stack; without it the environment names its parts. */
  readonly stack?: string;
  readonly roots: readonly string[];
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: (event: ProgressEvent) => void;
}

export type InterruptionSignal = 'SIGINT' | 'SIGTERM';

/** Everything that the command line takes from the process around it; tests give their own. */
export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
  /** Absolute home directory of the user. */
  readonly home: string;
  readonly version: string;
  /** Loads the native library at the earliest when it is called. */
  openUpkeep(options: OpenUpkeepOptions): Promise<Operator & Runner>;
  /** The operator of a stack on AWS. */
  openStack(options: OpenStackOptions): Promise<Operator>;
  /** Calls `handle` for each Ctrl-C or termination request until the returned function is called. */
  onInterruption(handle: (signal: InterruptionSignal) => void): () => void;
  /** Ends the process at once. */
  exitNow(code: number): void;
}
