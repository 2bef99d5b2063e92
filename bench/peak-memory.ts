import { readFileSync } from 'node:fs';

/**
 * Peak resident memory of this process in bytes. On Linux from VmHWM, which begins anew with the program; maxRSS would
 * still hold the peak of the parent that it was forked from.
 */
export function peakMemory(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024;
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  if (peak === undefined) throw new Error('no VmHWM in /proc/self/status');
  return Number(peak) * 1024;
}
