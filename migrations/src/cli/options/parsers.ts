import { InvalidArgumentError } from 'commander';

// Parsers of option values, in the form that commander calls. Its message names
// the option and the value that was given; ours says what is expected.

/** PostgreSQL cuts longer names. */
const MAX_NAME_BYTES = 63;

const MAX_MILLISECONDS = 600_000;
const MAX_BATCH_SIZE = 1_000_000;

/** PostgreSQL's own units, of 1024 each, as `pg_size_pretty` prints them. */
const UNITS = ['', 'K', 'M', 'G', 'T', 'P'];

export function parseMilliseconds(value: string): number {
  return wholeNumber(value, 1, MAX_MILLISECONDS, 'of milliseconds', '30');
}

export function parseBatchSize(value: string): number {
  return wholeNumber(value, 1, MAX_BATCH_SIZE, 'of rows', '5000');
}

/** The phase that a rollback goes back to. */
export function parsePhase(value: string): number {
  return wholeNumber(value, 0, 5, 'of a phase', '3');
}

/** A name of a schema as it stands in the catalog, without quotes. */
export function parseSchema(value: string): string {
  const bytes = Buffer.byteLength(value);
  if (bytes === 0 || bytes > MAX_NAME_BYTES || value.includes('\0')) {
    throw new InvalidArgumentError(
      `Expected the name of a schema, of 1 to ${MAX_NAME_BYTES} bytes, such as tenancy.`,
    );
  }
  if (/^pg_/.test(value) || value === 'information_schema') {
    throw new InvalidArgumentError(
      'Expected a schema of yours, such as tenancy: PostgreSQL keeps this one to itself.',
    );
  }
  return value;
}

export function parseTenantName(value: string): string {
  if (value.trim() === '' || value.length > 255 || value.includes('\0')) {
    throw new InvalidArgumentError(
      'Expected a name of 1 to 255 characters, such as "Our company".',
    );
  }
  return value;
}

/** A size such as `500GB`, in bytes. */
export function parseBytes(value: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?$/i.exec(value.trim());
  const bytes =
    match &&
    Number(match[1]) * 1024 ** UNITS.indexOf(match[2].toLocaleUpperCase('en'));
  if (!bytes || !Number.isSafeInteger(Math.floor(bytes))) {
    throw new InvalidArgumentError(
      'Expected a size with a unit (kB, MB, GB or TB, of 1024 each), such as 500GB.',
    );
  }
  return Math.floor(bytes);
}

/** The address that the application answers at, without a trailing slash. */
export function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const extras = url && [url.username, url.password, url.search, url.hash];
  if (!url || !/^https?:$/.test(url.protocol) || extras?.some(Boolean)) {
    throw new InvalidArgumentError(
      'Expected an address such as https://portal.example.com, with neither a query nor a password.',
    );
  }
  return value.replace(/\/+$/, '');
}

/** Gathers the values of an option that may be given several times. */
export function gather<T>(
  parse: (value: string) => T,
): (value: string, previous?: T[]) => T[] {
  return (value, previous = []) => [...previous, parse(value)];
}

function wholeNumber(
  value: string,
  min: number,
  max: number,
  what: string,
  example: string,
): number {
  const parsed = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (!(parsed >= min && parsed <= max)) {
    throw new InvalidArgumentError(
      `Expected a whole number ${what} from ${min} to ${max}, such as ${example}.`,
    );
  }
  return parsed;
}
