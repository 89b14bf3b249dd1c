import { InvalidArgumentError, Option } from 'commander';
import { DEFAULT_TENANT_NAME } from '../schema/tables';
import {
  gather,
  parseBaseUrl,
  parseBytes,
  parseMilliseconds,
  parsePhase,
  parseSchema,
  parseTenantName,
} from './options/parsers';

// Options that only some commands take.

// Without the others a phase would fail.
const MAY_BE_MISSING = ['pg_cron'];

export const tenantNameOption = new Option(
  '--tenant-name <name>',
  `the name of the default tenant, which owns what was there before (default: "${DEFAULT_TENANT_NAME}"); given again, it renames it`,
).argParser(parseTenantName);

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

export const freeDiskOption = new Option(
  '--free-disk <size>',
  'the free space of the disk of the database, such as 500GB, which PostgreSQL does not tell',
).argParser(parseBytes);

/** What the preflight is told, by itself or before a phase. */
export const preflightOptions = [
  backupCompletedOption,
  allowMissingOption,
  freeDiskOption,
];

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
  '--max-block <ms>',
  'for how long everybody who uses the tables may be kept waiting (default: 5000)',
).argParser(parseMilliseconds);

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

function parseExtension(value: string): string {
  if (!MAY_BE_MISSING.includes(value)) {
    throw new InvalidArgumentError(
      `Expected ${MAY_BE_MISSING.join(
        ' or ',
      )}: the migration needs all others.`,
    );
  }
  return value;
}
