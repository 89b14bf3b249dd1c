import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import type { PhaseNumber } from '../engine/Step';
import { createCatalogDatabase, openCatalogDatabase } from './catalogDatabase';
import type { CatalogDatabase } from './catalogDatabase';
import { runPhases } from './runPhases';

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
  { entities, phase, prepare }: TemplateOptions,
): Promise<ClientConfig> {
  const database = await createCatalogDatabase(databases, id, { entities });
  if (phase) {
    await database.client.query('create extension pg_trgm schema public');
    await runPhases(database, phase);
  }
  await prepare?.(database);
  await database.close();
  return database.connection;
}

async function copyOf(template: ClientConfig): Promise<CatalogDatabase> {
  copies += 1;
  const name = `${template.database}_copy_${copies}`;
  await administer(template, [
    // PostgreSQL copies no database that has sessions.
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
