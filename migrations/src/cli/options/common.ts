import { Option } from 'commander';
import type { MigrationSettings } from '../../engine/Step';
import { DEFAULT_TENANT_NAME } from '../../schema/tables';
import { URL_VARIABLE } from '../connection';
import {
  gather,
  parseBatchSize,
  parseMilliseconds,
  parseSchema,
} from './parsers';
import { UsageError } from '../usageError';
import type { CommandOptions } from './CommandOptions';

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
    new Option(
      '--lock-timeout <ms>',
      'for how long a request for a lock may hold up writers, before it is given up and repeated',
    )
      .default(30)
      .argParser(parseMilliseconds),
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

/** What every command that changes something takes in addition. */
export const maxPauseOption = new Option(
  '--max-pause <ms>',
  'for how long it may hold up the application where no request as short as --lock-timeout is granted: each is longer than the one before, up to this. Without it none is',
).argParser(parseMilliseconds);

/** A token for the application: as an argument, others could read it. */
export const TOKEN_VARIABLE = 'MIGRATION_TOKEN';

/**
 * The settings of the phases, as the options have them.
 *
 * @throws UsageError if `--max-pause` is shorter than `--lock-timeout`
 */
export function settingsOf(
  options: CommandOptions,
  env: NodeJS.ProcessEnv = process.env,
): MigrationSettings {
  const { lockTimeout, maxPause } = options;
  if (maxPause !== undefined && maxPause < lockTimeout) {
    throw new UsageError(
      `--max-pause ${maxPause} is shorter than --lock-timeout ${lockTimeout}, for which the ` +
        `application is held up in any case. Expected ${lockTimeout} or more.`,
    );
  }
  return {
    schema: options.schema,
    lockTimeoutMs: lockTimeout,
    maxPauseMs: maxPause,
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
