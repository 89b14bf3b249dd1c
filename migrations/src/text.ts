// Numbers, sizes, times and lists as people read them.

const SIZE_UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** `1234567` as `1,234,567`. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** A number of things: `1 step`, `2 steps`, `2 entities`. */
export function formatThings(count: number, thing: string): string {
  const things = `${thing.replace(/y$/, 'ie')}s`;
  return `${formatCount(count)} ${count === 1 ? thing : things}`;
}

/** Bytes in PostgreSQL's units, of 1024 each. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < SIZE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit > 0 && value < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${SIZE_UNITS[unit]}`;
}

/** Seconds as `42s`, `3m 20s` or `1h 05m`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60)];
  if (hours > 0) {
    return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  }
  return minutes > 0
    ? `${minutes}m ${String(whole % 60).padStart(2, '0')}s`
    : `${whole}s`;
}

/** A moment in UTC, to the second. */
export function formatTime(time: Date): string {
  return time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

const LISTED = 10;

/**
 * Things in a sentence: the first ten by name, and how many more there are.
 *
 * @param total - how many there are, if `things` has only the first of them
 */
export function enumerate(things: string[], total = things.length): string {
  const more = total - LISTED;
  const listed = things.slice(0, LISTED).join(', ');
  return more > 0 ? `${listed} and ${more} more` : listed;
}

/** Statements as a script. */
export function script(statements: string[]): string {
  return statements.map(statement => `${statement};`).join('\n');
}

/** Statements below the message of a refusal. */
export function below(statements: string[]): string {
  return [...new Set(statements)].map(each => `\n    ${each};`).join('');
}
