/**
 * How long to wait before the next try of a call: full jitter below a bound that doubles, in milliseconds.
 * @param attempt the try that failed, from 1.
 */
export function jitteredWait(
  random: () => number,
  attempt: number,
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
): number {
  return random() * Math.min(longestMs, firstMs * 2 ** (attempt - 1));
}

const REDELIVERY_STEP_MS = 5_000;
const LONGEST_REDELIVERY_MS = 60_000;

/** How long a message stays hidden that could not be answered yet: 5 s, 10 s, 15 s and so on, at most a minute. In milliseconds. */
export function redeliveryDelayMs(receiveCount: number): number {
  return Math.min(LONGEST_REDELIVERY_MS, REDELIVERY_STEP_MS * Math.max(1, receiveCount));
}
