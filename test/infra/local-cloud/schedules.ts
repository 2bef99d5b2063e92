const MINUTE_MS = 60_000;
const UNITS: Readonly<Record<string, number>> = { minute: MINUTE_MS, hour: 60 * MINUTE_MS, day: 24 * 60 * MINUTE_MS };

/**
 * Whether a schedule fires in this minute, counted from the clock's beginning for rates and from midnight UTC for cron.
 * Only the forms that the stack writes are known.
 */
export function firesIn(minute: number, expression: string): boolean {
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  if (count !== undefined) return minute > 0 && (minute * MINUTE_MS) % (Number(count) * (UNITS[unit] ?? 0)) === 0;
  const [, minutes = '', hours = ''] = /^cron\((\S+) (\S+) \* \* \? \*\)$/.exec(expression) ?? [];
  if (minutes === '') throw new Error(`The schedule ${expression} is not known here.`);
  const [of, at] = [minute % 60, Math.floor(minute / 60) % 24];
  const [start = '', step] = minutes.split('/');
  const inHour =
    step === undefined ? of === Number(start) : of >= Number(start) && (of - Number(start)) % Number(step) === 0;
  return inHour && hours.split(',').map(Number).includes(at);
}
