import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import type { OpenOptions } from '../engine/TenancyMigration';
import type { MigrationSettings } from '../engine/Step';
import { APPLICATION_PREFIX } from '../session/operatorLock';
import { seedCatalog } from './seed';

export const testSettings: MigrationSettings = {
  schema: 'tenancy',
  lockTimeoutMs: 50,
  batchSize: 50,
  defaultTenantName: 'Our company',
  adminGrant: true,
  force: false,
};

/** A database with a single-tenant catalog, and a client of its owner. */
export interface CatalogDatabase {
  connection: ClientConfig;
  client: Client;
  /** Opens a migration, uses it, and closes it whatever happens. */
  migrate<T>(
    use: (migration: TenancyMigration) => Promise<T>,
    options?: Partial<Omit<OpenOptions, 'settings'>> & {
      settings?: Partial<MigrationSettings>;
    },
  ): Promise<T>;
  close(): Promise<void>;
}

/** A new database on the server `id`, seeded unless told otherwise. */
export async function createCatalogDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: { seed?: boolean; entities?: number } = {},
): Promise<CatalogDatabase> {
  const { seed = true, entities } = options;
  const connection = await databases.create(
    id,
    seed
      ? {
          name: `single-tenant catalog with ${entities ?? 'some'} entities`,
          prepare: empty => fill(empty, entities),
        }
      : undefined,
  );
  return openCatalogDatabase(connection);
}

async function fill(connection: ClientConfig, entities?: number) {
  const client = new Client(connection);
  await client.connect();
  await seedCatalog(client, { entities });
  await client.end();
}

/** A database that is there already. */
export async function openCatalogDatabase(
  connection: ClientConfig,
): Promise<CatalogDatabase> {
  const client = new Client({
    ...connection,
    // Or phase 4 would take it for the application from before.
    application_name: `${APPLICATION_PREFIX} test`,
  });
  await client.connect();
  await client.query('set search_path = tenancy');
  return {
    connection,
    client,
    async migrate(use, { settings, ...rest } = {}) {
      const migration = await TenancyMigration.open({
        phases,
        connection,
        command: 'test',
        mode: 'change',
        settings: { ...testSettings, ...settings },
        ...rest,
      });
      try {
        return await use(migration);
      } finally {
        await migration.close();
      }
    },
    close: () => client.end(),
  };
}
