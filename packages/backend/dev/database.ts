import { randomUUID } from 'crypto';
import { join } from 'path';
import { Postgres } from '@internal/postgres';
import { Client } from 'pg';

// Named in .gitignore.
const FOLDER = '.postgres';

/** Starts the PostgreSQL that keeps its data in the clone. */
export async function startEmbeddedDatabase(
  rootFolder: string,
): Promise<Postgres> {
  return await Postgres.start({ dataDirectory: join(rootFolder, FOLDER) });
}

/** The variables that app-config.yaml reads. */
export function databaseEnvironment({
  connection,
}: Postgres): Record<string, string> {
  return {
    POSTGRES_HOST: connection.host,
    POSTGRES_PORT: String(connection.port),
    POSTGRES_USER: connection.user,
    POSTGRES_PASSWORD: connection.password,
  };
}

// As the migration would make it, but with a password: without one it could not
// log in.
const APPLICATION_USER = 'portal_app';
const ATTRIBUTES =
  'login nosuperuser nobypassrls noinherit nocreatedb nocreaterole';

/**
 * Sees to it that there is a user for the rows of tenants, whom row-level security
 * binds, and returns the variables that app-config.yaml reads. Each start gives it
 * another password, so that none has to be kept.
 */
export async function createApplicationUser({
  connection,
}: Postgres): Promise<Record<string, string>> {
  const password = randomUUID();
  const client = new Client({ ...connection, database: 'postgres' });
  await client.connect();
  try {
    const { rows } = await client.query(
      'select from pg_roles where rolname = $1',
      [APPLICATION_USER],
    );
    const verb = rows.length > 0 ? 'alter' : 'create';
    await client.query(
      `${verb} role ${APPLICATION_USER} ${ATTRIBUTES} password '${password}'`,
    );
  } finally {
    await client.end();
  }
  return {
    TENANCY_POSTGRES_USER: APPLICATION_USER,
    TENANCY_POSTGRES_PASSWORD: password,
  };
}
