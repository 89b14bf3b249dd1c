import { copyDatabase, withClient } from '@internal/postgres/testUtils';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Client, ClientConfig } from 'pg';
import type { PhaseNumber } from '../engine/Step';
import { createCatalogDatabase, openCatalogDatabase } from './catalogDatabase';
import type { CatalogDatabase } from './catalogDatabase';

let copies = 0;

interface TemplateOptions {
  entities?: number;
  /** Runs the phases up to this one, with `pg_trgm` in the schema public. */
  phase?: PhaseNumber;
  /** What else the copies have in common, after the phases. */
  prepare?: (database: CatalogDatabase) => Promise<void>;
}

/** Prepares a database once, and copies it at each call, which takes milliseconds. */
export function catalogTemplate(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: TemplateOptions,
): () => Promise<CatalogDatabase> {
  let template: Promise<ClientConfig> | undefined;
  return async () => {
    template ??= createTemplate(databases, id, options);
    return copyOf(await template);
  };
}

async function createTemplate(
  databases: TestDatabases,
  id: TestDatabaseId,
  { prepare, ...options }: TemplateOptions,
): Promise<ClientConfig> {
  const database = await createCatalogDatabase(databases, id, options);
  await prepare?.(database);
  await database.close();
  return database.connection;
}

async function copyOf(template: ClientConfig): Promise<CatalogDatabase> {
  copies += 1;
  const name = `${template.database}_copy_${copies}`;
  await administer(template, admin =>
    copyDatabase(admin, name, template.database!),
  );
  const database = await openCatalogDatabase({ ...template, database: name });
  return {
    ...database,
    close: async () => {
      await database.close();
      await administer(template, async admin => {
        await admin.query(`drop database "${name}" with (force)`);
      });
    },
  };
}

async function administer(
  connection: ClientConfig,
  use: (admin: Client) => Promise<void>,
): Promise<void> {
  await withClient({ ...connection, database: 'postgres' }, admin =>
    use(admin),
  );
}
