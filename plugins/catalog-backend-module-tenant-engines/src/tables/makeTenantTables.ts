import {
  type LoggerService,
  resolvePackagePath,
} from '@backstage/backend-plugin-api';
import { type ClientConfig, escapeIdentifier } from 'pg';
import { EngineTables } from './EngineTables';
import { EngineTablesError, TablesSession } from './TablesSession';
import { listMigrations, migrateTenant, missing } from './upstreamMigrations';

/** Where the migrations of a plugin are, if not in `@backstage/plugin-<id>-backend`. */
const PACKAGES: Record<string, string> = {
  search: '@backstage/plugin-search-backend-module-pg',
};

/**
 * Creates the empty tables of a tenant's engine, or of its instance of a plugin, for an import.
 * The installed migrations must be those of the export.
 *
 * @throws `EngineTablesError` if they differ
 * @public
 */
export async function makeTenantTables(options: {
  /** Of the login that owns the tables. */
  connection: ClientConfig;
  /** The schema of the tables of tenants: `tenancy`. */
  tenancySchema: string;
  /** `engine`, or `plugin <id>`. */
  part: string;
  tenantId: string;
  /** Their schema, which does not exist. */
  schema: string;
  /** The names of the migrations of the export; none for a plugin without tables. */
  migrations: string[];
}): Promise<void> {
  const { connection, part, schema, tenantId, tenancySchema } = options;
  const pluginId = part === 'engine' ? 'catalog' : part.replace('plugin ', '');
  const directory =
    options.migrations.length > 0 ? directoryOf(pluginId) : undefined;
  if (directory) {
    await refuseOthers(pluginId, directory, options.migrations);
  }
  if (part === 'engine') {
    const quiet = () => undefined;
    const logger: LoggerService = {
      error: quiet,
      warn: quiet,
      info: quiet,
      debug: quiet,
      child: () => logger,
    };
    await EngineTables.create({
      connection,
      schema: tenancySchema,
      logger,
    }).provision(tenantId);
    return;
  }
  await TablesSession.use(connection, session =>
    session.transaction(async () => {
      await session.query(`create schema ${escapeIdentifier(schema)}`);
      if (directory) {
        await migrateTenant(session, {
          schema,
          directory,
          title: `the tables of the plugin '${pluginId}' of the tenant ${tenantId}`,
          warn: () => undefined,
        });
      }
    }),
  );
}

function directoryOf(pluginId: string): string {
  const name = PACKAGES[pluginId] ?? `@backstage/plugin-${pluginId}-backend`;
  try {
    return resolvePackagePath(name, 'migrations');
  } catch {
    throw new EngineTablesError(
      `The export has tables of the plugin '${pluginId}', whose migrations are not installed: ${name}. Install it`,
    );
  }
}

async function refuseOthers(
  pluginId: string,
  directory: string,
  expected: string[],
): Promise<void> {
  const installed = await listMigrations(directory);
  const others = [
    ...missing(expected, installed),
    ...missing(installed, expected),
  ];
  if (others.length > 0) {
    throw new EngineTablesError(
      `The export has tables of another version of the plugin '${pluginId}', which differ by ${others.join(
        ', ',
      )}. Import it with the version that wrote it, and upgrade afterwards`,
    );
  }
}
