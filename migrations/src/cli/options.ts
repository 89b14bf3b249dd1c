import { InvalidArgumentError, Option } from 'commander';
import type { MigrationSettings } from '../engine/Step';
import { DEFAULT_TENANT_NAME, DEFAULT_TENANT_SLUG } from '../schema/tables';
import { DEFAULT_MAX_PAUSE_MS } from '../session/lockRetries';
import { URL_VARIABLE } from './connection';

/** The options of all commands, as commander names them. */
export interface CommandOptions {
  dryRun?: boolean;
  schema: string;
  maxPause?: number;
  batchSize: number;
  json?: boolean;
  url?: string;
  config?: string[];

  tenantName?: string;
  adminGrant?: boolean;
  backupCompleted?: boolean;
  allowMissing?: string[];
  baseUrl?: string;
  to?: number | string;
  mode?: 'block-writes' | 'online';
  shards?: number;
  force?: boolean;
  yes?: boolean;
  steps?: boolean;
  schedule?: boolean;
  maxBlock?: number;
  catalogSchema?: string;
  keepTables?: boolean;
  tenant?: string;
}

/** The options that every command takes. */
export function commonOptions(): Option[] {
  return [
    new Option(
      '--dry-run',
      'print the SQL and change nothing (PostgreSQL itself sees to that)',
    ),
    new Option('--schema <name>', 'the schema of the catalog tables')
      .default('tenancy')
      .argParser(parseSchema),
    new Option('--batch-size <rows>', 'rows of a batch')
      .default(2000)
      .argParser(parseBatchSize),
    new Option('--json', 'print one JSON document instead of text'),
    new Option(
      '--url <url>',
      `the database; ${URL_VARIABLE} in the environment is safer, since others on the machine can read arguments`,
    ).conflicts('config'),
    new Option(
      '--config <file>',
      'a configuration file of Backstage, instead of app-config.yaml and app-config.local.yaml; may be repeated',
    ).argParser(gather(file => file)),
  ];
}

/** The option of all commands that change something. */
export const maxPauseOption = new Option(
  '--max-pause <ms>',
  'for how long a request for a lock may hold up the application, before it is given up and repeated; the first ones are shorter',
)
  .default(DEFAULT_MAX_PAUSE_MS)
  .argParser(parseMilliseconds);

/** The token for the application: other users of the machine can read arguments. */
export const TOKEN_VARIABLE = 'MIGRATION_TOKEN';

/** The settings of the phases, from the options. */
export function settingsOf(
  options: CommandOptions,
  env: NodeJS.ProcessEnv = process.env,
): MigrationSettings {
  return {
    schema: options.schema,
    maxPauseMs: options.maxPause ?? DEFAULT_MAX_PAUSE_MS,
    batchSize: options.batchSize,
    defaultTenantName: options.tenantName ?? DEFAULT_TENANT_NAME,
    adminGrant: options.adminGrant ?? true,
    force: options.force ?? false,
    catalogSchema: options.catalogSchema,
    cutover:
      options.baseUrl === undefined
        ? undefined
        : { baseUrl: options.baseUrl, token: env[TOKEN_VARIABLE] },
  };
}

// Phases need all other extensions.
const MAY_BE_MISSING = ['pg_cron'];

export const tenantNameOption = new Option(
  '--tenant-name <name>',
  `the name of the default tenant, which owns what was there before (default: "${DEFAULT_TENANT_NAME}"); given again, it renames it`,
).argParser(parseTenantName);

export const shardsOption = new Option(
  '--shards <number>',
  'how many shards each table has, which cannot be changed later; as citus.shard_count says by default',
).argParser(parseShards);

export const nodeOption = new Option(
  '--to <host:port>',
  'the node, as "status" names it',
);

export const moveModeOption = new Option(
  '--mode <mode>',
  'writers of the tenant wait until its rows are moved, or go on, which takes longer; by the size of its shards if not given',
).choices(['block-writes', 'online']);

export const tenantOption = new Option(
  '--tenant <slug>',
  `the tenant whose engine it is (default: "${DEFAULT_TENANT_SLUG}", whose engine the stock catalog is)`,
);

export const noAdminGrantOption = new Option(
  '--no-admin-grant',
  'do not grant portal_admin to portal_app: for operators who migrate with a login of their own',
);

const backupCompletedOption = new Option(
  '--backup-completed',
  'confirm that a backup of the database is complete and can be restored',
);

const allowMissingOption = new Option(
  '--allow-missing <extension>',
  `go on without an extension, of which ${MAY_BE_MISSING.join(
    ', ',
  )} is the only one that can be missing`,
).argParser(gather(parseExtension));

/** The options of the preflight, as a command and before phase 1. */
export const preflightOptions = [backupCompletedOption, allowMissingOption];

export const preflightForceOption = forceOption(
  'go on although another schema looks like the one of the catalog, or something hangs on the tables that phase 4 or 5 refuses',
);

export const baseUrlOption = new Option(
  '--base-url <url>',
  'where the application answers, such as https://portal.example.com; a bearer token for it goes into MIGRATION_TOKEN',
).argParser(parseBaseUrl);

export const rollbackToOption = new Option(
  '--to <phase>',
  'the phase to go back to, 0 to 5 (default: undo the last phase that has begun)',
).argParser(parsePhase);

export const scheduleOption = new Option(
  '--schedule',
  'have pg_cron do it when the time has come',
);

export const maxBlockOption = new Option(
  '--max-block <time>',
  'for how long readers and writers of the tables may wait, in ms or such as 60s (default: 10s)',
).argParser(parseDuration);

export const catalogSchemaOption = new Option(
  '--catalog-schema <name>',
  'the schema of the tables of the stock catalog (default: the one in which they are found)',
).argParser(parseSchema);

export const keepTablesOption = new Option(
  '--keep-tables',
  'stop carrying changes, and leave the entities, relations and refresh states that were carried',
);

export const yesOption = new Option(
  '--yes',
  'do not ask before rows are deleted of which there is no copy',
);

export const stepsOption = new Option(
  '--steps',
  'show every step of every phase, and when it was done',
);

/** An option that goes on where the command would refuse. */
export function forceOption(consequence: string): Option {
  return new Option('--force', consequence);
}

// Parsers of option values, as commander calls them. Its message names the option and the
// given value; the parser's names the expected form.

/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63;

const MAX_MILLISECONDS = 600_000;
const MAX_BATCH_SIZE = 1_000_000;

export function parseMilliseconds(value: string): number {
  return wholeNumber(value, 1, MAX_MILLISECONDS, 'of milliseconds', '30');
}

/** Milliseconds, or seconds such as `60s`. */
export function parseDuration(value: string): number {
  const seconds = /^(\d{1,3})s$/.exec(value)?.[1];
  return parseMilliseconds(seconds ? `${Number(seconds) * 1000}` : value);
}

export function parseBatchSize(value: string): number {
  return wholeNumber(value, 1, MAX_BATCH_SIZE, 'of rows', '5000');
}

// What Citus takes.
const MAX_SHARDS = 64_000;

function parseShards(value: string): number {
  return wholeNumber(value, 1, MAX_SHARDS, 'of shards', '32');
}

/** The phase that a rollback goes back to. */
export function parsePhase(value: string): number {
  return wholeNumber(value, 0, 5, 'of a phase', '3');
}

/** A name of a schema as in pg_namespace, without quotes. */
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

/** An extension that may be missing. */
export function parseExtension(value: string): string {
  if (!MAY_BE_MISSING.includes(value)) {
    throw new InvalidArgumentError(
      `Expected ${MAY_BE_MISSING.join(
        ' or ',
      )}: the migration needs all others.`,
    );
  }
  return value;
}
