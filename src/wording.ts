/** 1 -> `1 fragment`, 2 -> `2 fragments`, 12000 -> `12,000 fragments`. */
export function count(value: number, noun: string): string {
  return `${value.toLocaleString('en-US')} ${noun}${value === 1 ? '' : 's'}`;
}

/** 268435456 -> `256 MiB`, 1536 -> `1.5 KiB`; below 1 KiB in bytes, from 100 of a unit on without a decimal. */
export function size(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(value < 100 ? 1 : 0))} ${units[unit]}`;
}

/** 5400000 -> `90 min`: the largest unit that leaves at least two of it, rounded. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** 0.234 -> `23 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
