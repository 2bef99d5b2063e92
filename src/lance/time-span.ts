const second = 1000;
const day = 86_400 * second;

/** Milliseconds per unit, by the names that Rust's `humantime` takes. Case counts: `m` is a minute, `M` a month. */
const units: readonly (readonly [readonly string[], number])[] = [
  [['nanos', 'nanosecond', 'nanoseconds', 'nsec', 'ns'], 1e-6],
  [['micros', 'microsecond', 'microseconds', 'usec', 'us', 'µs'], 1e-3],
  [['millis', 'millisecond', 'milliseconds', 'msec', 'ms'], 1],
  [['seconds', 'second', 'secs', 'sec', 's'], second],
  [['minutes', 'minute', 'mins', 'min', 'm'], 60 * second],
  [['hours', 'hour', 'hrs', 'hr', 'h'], 3600 * second],
  [['days', 'day', 'd'], day],
  [['weeks', 'week', 'wks', 'wk', 'w'], 7 * day],
  [['months', 'month', 'M'], 30.44 * day],
  [['years', 'year', 'yrs', 'yr', 'y'], 365.25 * day],
];
const millisecondsOf = new Map(units.flatMap(([names, value]) => names.map((name) => [name, value] as const)));

/**
 * Milliseconds of a time span as Lance's table config writes it: numbers with units, `30d`, `7days 2h`, `1h30m`. A bare `0` is none.
 * Undefined for anything else: a span that is not understood must never be taken for a short one.
 */
export function parseTimeSpan(text: string): number | undefined {
  const rest = text.trim();
  if (rest === '0') return 0;
  const part = /\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]+)/y;
  let total = 0;
  while (part.lastIndex < rest.length) {
    const found = part.exec(rest);
    const unit = found && millisecondsOf.get(found[2] as string);
    if (unit === undefined || unit === null) return undefined;
    total += Number(found?.[1]) * unit;
  }
  return rest === '' || !Number.isFinite(total) ? undefined : total;
}
