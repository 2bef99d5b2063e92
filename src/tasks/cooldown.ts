/** Waiting times between attempts, all in milliseconds. Pure arithmetic; the rules that use it are in settle-plan.ts. */

export const MAX_FAILURES = 8;
export const LONGEST_LIFE_MS = 48 * 3_600_000;

const FIRST_RETRY_MS = 60_000;
const FIRST_COOLDOWN_MS = 600_000;
const LONGEST_COOLDOWN_MS = 6 * 3_600_000;
const CONTENTION_MS = [2_000, 2_000, 30_000] as const;
const LONGEST_CONTENTION_MS = 900_000;

/** The wait after the n-th failure in a row, and whether it is a cooldown of the whole kind on that target. */
export function waitAfterFailure(streak: number, cooldownAfter: number): { waitMs: number; cooldown: boolean } {
  if (streak < cooldownAfter) {
    return { waitMs: Math.min(FIRST_COOLDOWN_MS, FIRST_RETRY_MS * 2 ** (streak - 1)), cooldown: false };
  }
  const doublings = Math.min(streak - cooldownAfter, 30);
  return { waitMs: Math.min(LONGEST_COOLDOWN_MS, FIRST_COOLDOWN_MS * 2 ** doublings), cooldown: true };
}

/** The wait after the n-th contention in a row: 2 s, 2 s, 30 s, then doubling to 900 s. */
export function waitAfterContention(count: number): number {
  const early = CONTENTION_MS[count - 1];
  if (early !== undefined) return early;
  const doublings = Math.min(count - CONTENTION_MS.length, 30);
  return Math.min(LONGEST_CONTENTION_MS, 30_000 * 2 ** doublings);
}

/** Each wake-up of a queued task waits twice as long as the one before, up to 4 hours. */
export function nextWakeStep(stepMs: number): number {
  return Math.min(4 * 3_600_000, stepMs * 2);
}
