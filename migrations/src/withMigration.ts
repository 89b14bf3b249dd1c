import type { ClientConfig } from 'pg';
import type { Reporter } from './Reporter';
import { DEFAULT_MAX_PAUSE_MS } from './session/lockRetries';
import { DEFAULT_TENANT_NAME } from './schema/tables';
import type { MigrationSettings } from './engine/Step';
import { TenancyMigration } from './engine/TenancyMigration';
import { phases } from './phases';

/** What functions of the library let their callers choose, and `undefined` for the default. */
interface Options extends Partial<MigrationSettings> {
  connection: ClientConfig | string;
  reporter?: Reporter;
}

/** Opens a migration for a function of the library, which has no command line, and closes it. */
export async function withMigration<T>(
  { connection, reporter, ...settings }: Options,
  how: { command: string; mode: 'change' | 'read' },
  use: (migration: TenancyMigration) => Promise<T>,
): Promise<T> {
  const migration = await TenancyMigration.open({
    ...how,
    phases,
    connection:
      typeof connection === 'string'
        ? { connectionString: connection }
        : connection,
    settings: {
      schema: settings.schema ?? 'tenancy',
      catalogSchema: settings.catalogSchema,
      maxPauseMs: settings.maxPauseMs ?? DEFAULT_MAX_PAUSE_MS,
      batchSize: settings.batchSize ?? 2000,
      defaultTenantName: settings.defaultTenantName ?? DEFAULT_TENANT_NAME,
      adminGrant: settings.adminGrant ?? true,
      force: settings.force ?? false,
    },
    reporter,
  });
  try {
    return await use(migration);
  } finally {
    await migration.close();
  }
}
