import type { Settings } from '../src/config.ts';
import { UpkeepError } from '../src/errors.ts';

/** Hours of the day, from the first quiet one to the first loud one. */
export interface QuietHours {
  readonly from: number;
  readonly until: number;
  readonly timeZone: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;

/**
 * Parses `22-6` and checks that every sweep's interval can be told to a clock with hours.
 * @throws UpkeepError SETTING_INVALID (permanent)
 */
export function quietHoursOf(
  text: string | undefined,
  timeZone: string | undefined,
  settings: Pick<Settings, 'compactionIntervalMs' | 'mergeWalIntervalMs' | 'mergeWalTailIntervalMs'>,
): QuietHours | undefined {
  if (text === undefined) return undefined;
  const [, first, second] = /^([0-9]{1,2})-([0-9]{1,2})$/.exec(text) ?? [];
  const [from, until] = [Number(first), Number(second)];
  if (!(from < DAY_HOURS && until < DAY_HOURS && from !== until)) {
    throw invalid(text, 'it must be two different hours of the day, such as 22-6');
  }
  const quietHours = { from, until, timeZone: timeZone ?? 'UTC' };
  for (const intervalMs of [
    settings.compactionIntervalMs,
    settings.mergeWalIntervalMs,
    settings.mergeWalTailIntervalMs,
  ]) {
    scheduleExpression(intervalMs, quietHours);
  }
  return quietHours;
}

/**
 * How EventBridge Scheduler is told an interval: a rate, or, with quiet hours, minutes and hours of the day.
 * @throws UpkeepError SETTING_INVALID (permanent) for an interval that is no whole minute, or that no day is a multiple of.
 * @example scheduleExpression(600_000, undefined) // rate(10 minutes)
 */
export function scheduleExpression(intervalMs: number, quietHours: QuietHours | undefined): string {
  const minutes = intervalMs / MINUTE_MS;
  if (!Number.isInteger(minutes) || minutes < 1) {
    throw invalid(`${intervalMs / 1000} s`, 'the scheduler counts whole minutes');
  }
  if (quietHours === undefined) return minutes === 1 ? 'rate(1 minute)' : `rate(${minutes} minutes)`;
  const loud = loudHours(quietHours);
  if (intervalMs < HOUR_MS) {
    if (60 % minutes !== 0) throw invalid(`${minutes} min`, 'with quiet hours an interval has to divide an hour');
    return `cron(0/${minutes} ${loud.join(',')} * * ? *)`;
  }
  const hours = minutes / 60;
  if (!Number.isInteger(hours) || DAY_HOURS % hours !== 0) {
    throw invalid(`${minutes} min`, 'with quiet hours an interval of an hour or more has to divide a day');
  }
  // Counted from the first loud hour, so that the day begins with a sweep.
  return `cron(0 ${loud.filter((_, index) => index % hours === 0).join(',')} * * ? *)`;
}

/** How long the tables are left alone each day. */
export function quietSpanMs(quietHours: QuietHours | undefined): number {
  return quietHours === undefined ? 0 : (DAY_HOURS - loudHours(quietHours).length) * HOUR_MS;
}

function loudHours({ from, until }: QuietHours): number[] {
  const count = (from - until + DAY_HOURS) % DAY_HOURS;
  return Array.from({ length: count }, (_, index) => (until + index) % DAY_HOURS);
}

function invalid(value: string, why: string): UpkeepError {
  return new UpkeepError(`The schedule cannot be made of ${JSON.stringify(value)}: ${why}.`, {
    code: 'SETTING_INVALID',
    disposition: 'permanent',
    next: 'Correct the interval, or quietHours; docs/deploy.md has the rules.',
    details: { value },
  });
}
