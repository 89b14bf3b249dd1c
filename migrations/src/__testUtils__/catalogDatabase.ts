import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import type { OpenOptions } from '../engine/TenancyMigration';
import type { MigrationSettings, PhaseNumber } from '../engine/Step';
import { APPLICATION_PREFIX } from '../session/operatorLock';
import { seedCatalog } from './seed';

export const testSettings: MigrationSettings = {
  schema: 'tenancy',
  maxPauseMs: 1000,
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

interface ContentOptions {
  /** False for an empty database. */
  seed?: boolean;
  entities?: number;
  /** Runs the phases up to this one, with `pg_trgm` in the schema public. */
  phase?: PhaseNumber;
}

/** A new database on the server `id`, seeded unless told otherwise. */
export async function createCatalogDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  { seed = true, entities, phase }: ContentOptions = {},
): Promise<CatalogDatabase> {
  const connection = await databases.create(
    id,
    seed
      ? {
          name: `catalog with ${entities ?? 'some'} entities after phase ${
            phase ?? 0
          }`,
          prepare: empty => fill(empty, { entities, phase }),
        }
      : undefined,
  );
  return openCatalogDatabase(connection);
}

async function fill(
  connection: ClientConfig,
  { entities, phase = 0 }: { entities?: number; phase?: number },
): Promise<void> {
  const database = await openCatalogDatabase(connection);
  await seedCatalog(database.client, { entities });
  if (phase > 0) {
    await database.client.query('create extension pg_trgm schema public');
  }
  for (let each = 1; each <= phase; each += 1) {
    await database.migrate(migration =>
      migration.runPhase(each as PhaseNumber),
    );
  }
  await database.close();
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
