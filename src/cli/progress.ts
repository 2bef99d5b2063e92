import type { ProgressEvent } from '../upkeep/reports.ts';
import type { Output } from './context.ts';
import { tableName } from './format.ts';
import type { Paint } from './paint.ts';
import { oneLine } from './render-table.ts';

const QUIET_LINE_MS = 3_000;
const CLEAR_LINE = '\r\u001b[K';

export interface ProgressPrinter {
  show(event: ProgressEvent): void;
  /** A line for the person at the terminal. */
  hint(text: string): void;
  /** Takes away an unfinished line, before anything else is printed. */
  clear(): void;
}

/**
 * Progress on stderr. What happens once (started, done, failed ...) is a line of its own. The repeating `progress` stage rewrites one
 * line on a terminal, and elsewhere is a plain line every few seconds for each task.
 */
export function createProgressPrinter(options: {
  readonly stderr: Output;
  readonly quiet: boolean;
  readonly paint: Paint;
  /** False on a terminal that cannot rewrite a line. */
  readonly rewrites: boolean;
}): ProgressPrinter {
  const { stderr, quiet, paint } = options;
  const lastShown = new Map<string, number>();
  let unfinished = false;

  const clear = () => {
    if (unfinished) stderr.write(CLEAR_LINE);
    unfinished = false;
  };
  const line = (text: string) => {
    clear();
    stderr.write(`${text}\n`);
  };

  return {
    clear,
    hint: (text) => {
      if (!quiet) line(text);
    },
    show: (event) => {
      if (quiet) return;
      if (event.stage !== 'progress') {
        line(describe(event, paint));
        return;
      }
      if (options.rewrites) {
        clear();
        const text = describe(event, { ...paint, good: String, bad: String, dim: String, strong: String });
        stderr.write(text.slice(0, (stderr.columns ?? 80) - 1));
        unfinished = true;
        return;
      }
      const key = event.taskId ?? event.target ?? '';
      const before = lastShown.get(key);
      if (before !== undefined && event.at - before < QUIET_LINE_MS) return;
      lastShown.set(key, event.at);
      line(describe(event, paint));
    },
  };
}

function describe(event: ProgressEvent, paint: Paint): string {
  const time = `${new Date(event.at).toISOString().slice(11, 19)}Z`;
  const subject = [event.kind, event.target === undefined ? undefined : tableName(event.target)];
  const stage = event.stage.padEnd(8);
  const shownStage = event.stage === 'failed' ? paint.bad(stage) : event.stage === 'done' ? paint.good(stage) : stage;
  const words = subject.filter((word) => word !== undefined).join(' ');
  return `${paint.dim(time)} ${shownStage} ${words === '' ? '' : `${words}: `}${oneLine(event.message)}`;
}
