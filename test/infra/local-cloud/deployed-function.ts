import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { compileCache } from '../../fixtures/command.ts';
import type { Invocation, Outcome } from './function-host.ts';

const HOST = fileURLToPath(new URL('./function-host.ts', import.meta.url));
const LINES_KEPT = 400;

export interface DeployedFunctionOptions {
  readonly id: string;
  /** The bundle's file, and the name of its export. */
  readonly file: string;
  readonly exported: string;
  /** All that the process may see. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly reservedConcurrency: number | undefined;
  readonly aheadMs: () => number;
}

/** A function was called while as many of it ran as may. */
export class Throttled extends Error {}

/** Lambda's side of one function: sandboxes as processes, each with one event at a time, never more than are reserved. */
export class DeployedFunction {
  readonly options: DeployedFunctionOptions;
  readonly log: string[] = [];
  readonly #idle: ChildProcess[] = [];
  readonly #all = new Set<ChildProcess>();
  #stopped = false;
  active = 0;
  /** The most that ever ran at once. */
  mostActive = 0;
  throttles = 0;

  constructor(options: DeployedFunctionOptions) {
    this.options = options;
  }

  /** Answers what the handler answers; throws what it threw, or when its process ended. */
  async invoke(event: unknown): Promise<unknown> {
    const { reservedConcurrency = Number.POSITIVE_INFINITY, timeoutMs, aheadMs } = this.options;
    if (this.active >= reservedConcurrency) {
      this.throttles += 1;
      throw new Throttled(`${this.options.id} is throttled.`);
    }
    if (this.#stopped) throw new Throttled(`${this.options.id} is no more.`);
    this.active += 1;
    this.mostActive = Math.max(this.mostActive, this.active);
    const child = this.#idle.pop() ?? this.#start();
    try {
      const outcome = await this.#ask(child, { event, requestId: randomUUID(), timeoutMs, aheadMs: aheadMs() });
      this.#idle.push(child);
      if ('error' in outcome) throw new Error(outcome.error);
      return outcome.result;
    } finally {
      this.active -= 1;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const ended = [...this.#all].map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#all) child.kill('SIGKILL');
    await Promise.all(ended);
  }

  #start(): ChildProcess {
    const { file, exported, environment } = this.options;
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', HOST, file, exported], {
      env: { ...compileCache, ...environment },
      // As on Lambda, where the code lies.
      cwd: dirname(file),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#all.add(child);
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#keep(line));
    }
    child.once('exit', () => {
      this.#all.delete(child);
      if (this.#idle.includes(child)) this.#idle.splice(this.#idle.indexOf(child), 1);
    });
    return child;
  }

  #keep(line: string): void {
    this.log.push(line);
    if (this.log.length > LINES_KEPT) this.log.shift();
  }

  #ask(child: ChildProcess, invocation: Invocation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`${this.options.id} ended: ${this.log.slice(-5).join('\n')}`));
      child.once('exit', onExit);
      child.once('message', (outcome: Outcome) => {
        child.off('exit', onExit);
        resolve(outcome);
      });
      child.send(invocation, (error) => {
        if (error) onExit();
      });
    });
  }
}
