import type { Measured } from './child.ts';

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function milliseconds(value: number): string {
  return value < 10 ? `${value.toFixed(2)} ms` : `${Math.round(value)} ms`;
}

export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MiB`;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} x`;
}

export function peak(measured: Measured): string {
  return mebibytes(measured.peakBytes);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** `met` or `missed`, with the target beside the figure. */
export function target(what: string, value: number, most: number): string {
  return `- ${what}: ${times(value)}, target at most ${times(most)}: ${value <= most ? 'met' : '**missed**'}.`;
}

export function targetAtLeast(what: string, value: number, least: number): string {
  return `- ${what}: ${times(value)}, target at least ${times(least)}: ${value >= least ? 'met' : '**missed**'}.`;
}
