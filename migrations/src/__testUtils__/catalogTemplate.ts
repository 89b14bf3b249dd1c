import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createCatalogDatabase, openCatalogDatabase } from './catalogDatabase';
import type { CatalogDatabase } from './catalogDatabase';

let copies = 0;

/**
 * Prepares a database once, and makes a copy of it whenever it is called: what
 * takes seconds to prepare is copied in a moment.
 */
export function catalogTemplate(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: {
    entities?: number;
    prepare: (database: CatalogDatabase) => Promise<void>;
  },
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
  { entities, prepare }: Parameters<typeof catalogTemplate>[2],
): Promise<ClientConfig> {
  const database = await createCatalogDatabase(databases, id, { entities });
  await prepare(database);
  await database.close();
  return database.connection;
}

async function copyOf(template: ClientConfig): Promise<CatalogDatabase> {
  copies += 1;
  const name = `${template.database}_copy_${copies}`;
  await administer(template, [
    // Nobody may be connected to a database while it is copied.
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${template.database}'`,
    `create database "${name}" template "${template.database}"`,
  ]);
  const database = await openCatalogDatabase({ ...template, database: name });
  return {
    ...database,
    close: async () => {
      await database.close();
      await administer(template, [`drop database "${name}" with (force)`]);
    },
  };
}

async function administer(
  connection: ClientConfig,
  statements: string[],
): Promise<void> {
  const client = new Client({ ...connection, database: 'postgres' });
  await client.connect();
  try {
    for (const statement of statements) {
      await client.query(statement);
    }
  } finally {
    await client.end();
  }
}
