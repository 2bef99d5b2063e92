import type { CommandContext, InterruptionSignal } from './context.ts';
import { EXIT } from './exit-codes.ts';

export interface Interruption {
  readonly signal: AbortSignal;
  /** 130 or 143 once somebody asked to stop. */
  exitCode(): number | undefined;
  stop(): void;
}

/**
 * The first Ctrl-C (or SIGTERM) asks the work to end: the commit in hand is finished and leases are released. The second ends the process;
 * its leases then end by themselves, since their process is gone.
 */
export function listenForInterruption(context: CommandContext, hint: (text: string) => void): Interruption {
  const controller = new AbortController();
  let code: number | undefined;
  const stop = context.onInterruption((signal: InterruptionSignal) => {
    const asked = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
    if (code !== undefined) {
      context.exitNow(asked);
      return;
    }
    code = asked;
    hint('Stopping: finishing the step in hand and releasing leases. Once more to stop at once.');
    controller.abort(new DOMException(`Stopped by ${signal}`, 'AbortError'));
  });
  return { signal: controller.signal, exitCode: () => code, stop };
}

/** True for the error that a call throws because its signal was aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
