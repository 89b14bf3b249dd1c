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
  /** What else the databases of a test file have in common, after the phases; one for each file. */
  prepare?: (database: CatalogDatabase) => Promise<unknown>;
}

/**
 * A new database on the server `id`, seeded unless told otherwise: a copy of one that is made
 * once.
 */
export async function createCatalogDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  { seed = true, ...content }: ContentOptions = {},
): Promise<CatalogDatabase> {
  const connection = await databases.create(
    id,
    seed
      ? {
          name: nameOf(content),
          prepare: empty => fill(empty, content),
        }
      : undefined,
  );
  return openCatalogDatabase(connection);
}

type Content = Omit<ContentOptions, 'seed'>;

function nameOf({ entities, phase, prepare }: Content): string {
  const of = `catalog with ${entities ?? 'some'} entities after phase ${
    phase ?? 0
  }`;
  return prepare ? `${of}, for ${expect.getState().testPath}` : of;
}

async function fill(
  connection: ClientConfig,
  { entities, phase, prepare }: Content,
): Promise<void> {
  const database = await openCatalogDatabase(connection);
  await seedCatalog(database.client, { entities });
  if (phase) {
    await database.client.query('create extension pg_trgm schema public');
  }
  for (let each = 1; each <= (phase ?? 0); each += 1) {
    await database.migrate(migration =>
      migration.runPhase(each as PhaseNumber),
    );
  }
  await prepare?.(database);
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
