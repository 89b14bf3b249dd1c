const LISTED = 10;

/** Things in a sentence: the first ten by name, and how many more there are. */
export function enumerate(things: string[]): string {
  const more = things.length - LISTED;
  const listed = things.slice(0, LISTED).join(', ');
  return more > 0 ? `${listed} and ${more} more` : listed;
}

/** `1 row`, `2 rows`. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

/** Statements as a script. */
export function script(statements: string[]): string {
  return statements.map(statement => `${statement};`).join('\n');
}

/** Bytes in units of 1024, as PostgreSQL prints them. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${
    units[unit]
  }`;
}
