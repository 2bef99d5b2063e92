import { type ErrorRecord, errorRecord } from '../errors.ts';
import { SCHEMA_VERSION } from '../upkeep/reports.ts';
import type { Paint } from './paint.ts';
import { oneLine } from './render-table.ts';

const LONGEST_MESSAGE = 1_200;
const NEXT_FOR_UNEXPECTED = 'Run the command again with --debug and report what it prints.';

/** What a person should do next: the error's own advice, or the way to report an error that nobody foresaw. */
export function nextStep(error: ErrorRecord): string | undefined {
  return error.next ?? (error.code === 'UNEXPECTED' ? NEXT_FOR_UNEXPECTED : undefined);
}

/** What, why and what next, on at most one screen; the stack only when asked for. */
export function renderError(thrown: unknown, options: { readonly debug: boolean; readonly paint: Paint }): string {
  const error = errorRecord(thrown);
  const next = nextStep(error);
  const lines = [`${options.paint.bad('error')} ${options.paint.strong(error.code)}: ${shorten(error.message)}`];
  if (next !== undefined) lines.push(`  next: ${shorten(next)}`);
  if (options.debug) lines.push(...stackLines(thrown));
  return `${lines.join('\n')}\n`;
}

/** The error object that `--json` prints on stdout. */
export function errorJson(thrown: unknown): { schemaVersion: number; error: Record<string, unknown> } {
  const error = errorRecord(thrown);
  return {
    schemaVersion: SCHEMA_VERSION,
    error: { code: error.code, message: error.message, next: nextStep(error) ?? null },
  };
}

function shorten(text: string): string {
  const line = oneLine(text);
  return line.length <= LONGEST_MESSAGE ? line : `${line.slice(0, LONGEST_MESSAGE)} ...`;
}

function stackLines(thrown: unknown): string[] {
  const lines: string[] = [];
  const seen = new Set<unknown>();
  let current = thrown;
  while (current instanceof Error && !seen.has(current)) {
    seen.add(current);
    lines.push(`${seen.size === 1 ? '' : 'caused by: '}${current.stack ?? String(current)}`);
    current = current.cause;
  }
  return lines;
}
