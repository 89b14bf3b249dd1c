import { InvalidArgumentError, Option } from 'commander';
import type { MigrationSettings } from '../engine/Step';
import { DEFAULT_TENANT_NAME, DEFAULT_TENANT_SLUG } from '../schema/tables';
import { DEFAULT_MAX_PAUSE_MS } from '../session/lockRetries';
import { URL_VARIABLE } from './connection';

/** The options of all commands, as commander names them. */
export interface CommandOptions {
  dryRun?: boolean;
  schema?: string;
  maxPause?: number;
  batchSize: number;
  json?: boolean;
  url?: string;
  config?: string[];

  tenantName?: string;
  adminGrant?: boolean;
  backupCompleted?: boolean;
  baseUrl?: string;
  to?: number | string;
  all?: boolean;
  keep?: number;
  shards?: number;
  force?: boolean;
  yes?: boolean;
  maxBlock?: number;
  catalogSchema?: string;
  tenant?: string;
  now?: boolean;
  slug?: string;
  replace?: boolean;
  giveUp?: boolean;
  database?: string[];
  toUrl?: string;
  toConfig?: string[];
}

/** The token for the application: other users of the machine can read arguments. */
export const TOKEN_VARIABLE = 'MIGRATION_TOKEN';

/** The settings of the phases, from the options. */
export function settingsOf(options: CommandOptions): MigrationSettings {
  return {
    schema: options.schema ?? 'tenancy',
    maxPauseMs: options.maxPause ?? DEFAULT_MAX_PAUSE_MS,
    batchSize: options.batchSize,
    defaultTenantName: options.tenantName ?? DEFAULT_TENANT_NAME,
    adminGrant: options.adminGrant ?? true,
    force: options.force ?? false,
    catalogSchema: options.catalogSchema,
    cutover:
      options.baseUrl === undefined
        ? undefined
        : { baseUrl: options.baseUrl, token: process.env[TOKEN_VARIABLE] },
  };
}

/** An option of commands. */
export function option<T>(
  flags: string,
  description: string,
  parse?: (value: string, previous?: T) => T,
): Option {
  const made = new Option(flags, description);
  return parse ? made.argParser(parse) : made;
}

/** The options that every command takes. */
export function commonOptions(): Option[] {
  return [
    option(
      '--schema <name>',
      'the schema of the tables (default: tenancy.schema of the configuration, or "tenancy")',
      parseSchema,
    ),
    option(
      '--batch-size <rows>',
      'rows of a batch',
      wholeNumber(1, 1_000_000, 'of rows'),
    ).default(2000),
    option('--json', 'print one JSON document instead of text'),
    option(
      '--url <url>',
      `the database; safer in ${URL_VARIABLE}: others can read arguments`,
    ).conflicts('config'),
    option(
      '--config <file>',
      'a configuration file of Backstage; may be repeated (default: app-config.yaml, app-config.local.yaml)',
      (file, files: string[] = []) => [...files, file],
    ),
  ];
}

const parseMilliseconds = wholeNumber(1, 600_000, 'of milliseconds');

export const dryRunOption = option(
  '--dry-run',
  'print the SQL and the locks, and change nothing',
);

/** The option of all commands that change something. */
export const maxPauseOption = option(
  '--max-pause <ms>',
  'for how long a request for a lock may hold up the application',
  parseMilliseconds,
).default(DEFAULT_MAX_PAUSE_MS);

export const tenantNameOption = option(
  '--tenant-name <name>',
  `the name of the default tenant (default: "${DEFAULT_TENANT_NAME}")`,
  parseTenantName,
);

export const tenantOption = option(
  '--tenant <slug>',
  `the tenant whose engine it is (default: "${DEFAULT_TENANT_SLUG}", of the stock catalog)`,
);

export const noAdminGrantOption = option(
  '--no-admin-grant',
  'do not grant portal_admin to portal_app: for operators with a login of their own',
);

/** The option of the preflight, as a command and before phase 1. */
export const backupOption = option(
  '--backup-completed',
  'confirm that a backup of the database is complete and can be restored',
);

export const baseUrlOption = option(
  '--base-url <url>',
  `the address of the application, such as https://portal.example.com; its bearer token in ${TOKEN_VARIABLE}`,
  parseBaseUrl,
);

export const maxBlockOption = option(
  '--max-block <ms>',
  'for how long readers and writers may wait (default: 10000)',
  parseMilliseconds,
);

export const yesOption = option(
  '--yes',
  'do not ask before deleting rows of which no copy is kept',
);

export const databaseOption = option(
  '--database <name>',
  'another database of the portal on the same server; may be repeated',
  (name, names: string[] = []) => [...names, name],
);

// Parsers of option values, as commander calls them. Its message names the option and the
// given value; the parser's names the expected form.

/** A parser of whole numbers. */
export function wholeNumber(min: number, max: number, what: string) {
  return (value: string): number => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
    if (!(parsed >= min && parsed <= max)) {
      throw new InvalidArgumentError(
        `Expected a whole number ${what} from ${min} to ${max}.`,
      );
    }
    return parsed;
  };
}

/** A name of a schema as in pg_namespace, without quotes; PostgreSQL truncates longer ones. */
export function parseSchema(value: string): string {
  const bytes = Buffer.byteLength(value);
  if (bytes === 0 || bytes > 63 || value.includes('\0')) {
    throw new InvalidArgumentError(
      'Expected the name of a schema, of 1 to 63 bytes, such as tenancy.',
    );
  }
  if (/^pg_/.test(value) || value === 'information_schema') {
    throw new InvalidArgumentError(
      "Expected a schema of yours, such as tenancy: this one is PostgreSQL's.",
    );
  }
  return value;
}

function parseTenantName(value: string): string {
  if (value.trim() === '' || value.length > 255 || value.includes('\0')) {
    throw new InvalidArgumentError('Expected a name of 1 to 255 characters.');
  }
  return value;
}

/** The address that the application answers at, without a trailing slash. */
function parseBaseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const extras = url && [url.username, url.password, url.search, url.hash];
  if (!url || !/^https?:$/.test(url.protocol) || extras?.some(Boolean)) {
    throw new InvalidArgumentError(
      'Expected an address such as https://portal.example.com, with neither a query nor a password.',
    );
  }
  return value.replace(/\/+$/, '');
}
