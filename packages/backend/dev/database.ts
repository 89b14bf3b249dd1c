import { Postgres, withClient } from '@internal/postgres';
import {
  adopt,
  migrateTo,
  readAdoption,
} from 'backstage-catalog-tenancy-migrations';
import { randomUUID } from 'crypto';
import { writeFile } from 'fs/promises';
import { join } from 'path';
import { Settings, StartError } from './settings';

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
 * another password.
 */
export async function createApplicationUser({
  connection,
}: Postgres): Promise<Record<string, string>> {
  const password = randomUUID();
  await withClient({ ...connection, database: 'postgres' }, async client => {
    const { rows } = await client.query(
      'select from pg_roles where rolname = $1',
      [APPLICATION_USER],
    );
    const verb = rows.length > 0 ? 'alter' : 'create';
    await client.query(
      `${verb} role ${APPLICATION_USER} ${ATTRIBUTES} password '${password}'`,
    );
  });
  return {
    TENANCY_POSTGRES_USER: APPLICATION_USER,
    TENANCY_POSTGRES_PASSWORD: password,
  };
}

/** Keeps the password beside the data, for the operator's commands. */
export async function keepPassword(
  rootFolder: string,
  { TENANCY_POSTGRES_PASSWORD }: Record<string, string>,
): Promise<void> {
  await writeFile(
    join(rootFolder, FOLDER, `${APPLICATION_USER}-password`),
    TENANCY_POSTGRES_PASSWORD,
    { mode: 0o600 },
  );
}

/**
 * Sees to it that the backend can serve tenants from the data folder.
 *
 * @returns what was done, if there was anything to do
 */
export async function prepareEarlierData(
  postgres: Postgres,
  settings: Settings,
): Promise<string | undefined> {
  try {
    return await adoptEarlierData(postgres, settings);
  } catch (error) {
    throw new StartError(
      `The catalog in ${postgres.dataDirectory} can't be made that of the default ` +
        `tenant: ${
          (error as Error).message
        } Remove that folder to start afresh, or ` +
        `set MULTI_TENANCY_ENABLED=false to do without tenants`,
    );
  }
}

/**
 * Takes the catalog in a data folder that is older than its tenants to where they
 * can be served: that of an earlier version, or of a start without them. A backend
 * leaves that to the operator, but no other user can reach this database.
 */
async function adoptEarlierData(
  postgres: Postgres,
  { tenancy }: Settings,
): Promise<string | undefined> {
  const { catalogDatabase, schema } = tenancy;
  if (!catalogDatabase || !(await exists(postgres, catalogDatabase))) {
    return undefined;
  }
  const connection = { ...postgres.connection, database: catalogDatabase };
  const { adopted, engineEntities } = await readAdoption({
    connection,
    schema,
  });
  if (!adopted && engineEntities === 0) {
    // The backend does all of it by itself.
    return undefined;
  }
  const { dataDirectory } = postgres;
  if (!adopted) {
    await adopt({ connection, schema });
    return `The catalog in ${dataDirectory} is that of the default tenant from now on.`;
  }
  const { done } = await migrateTo(5, { connection, schema });
  return done.length > 0
    ? `The tables of tenants in ${dataDirectory} are those of this version from now on.`
    : undefined;
}

async function exists(
  { connection }: Postgres,
  database: string,
): Promise<boolean> {
  return withClient({ ...connection, database: 'postgres' }, async client => {
    const { rows } = await client.query(
      'select from pg_database where datname = $1',
      [database],
    );
    return rows.length > 0;
  });
}
