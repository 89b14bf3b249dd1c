import { join } from 'path';
import { Postgres } from '@internal/postgres';

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
