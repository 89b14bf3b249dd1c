import { availableVersions, VERSIONS } from './binaries';
import { Postgres } from './Postgres';
import { PostgresVersion } from './types';

/** The variable in which Backstage's `TestDatabases` looks for a server. */
export function connectionStringVariable(version: PostgresVersion): string {
  return `BACKSTAGE_TEST_DATABASE_POSTGRES${version}_CONNECTION_STRING`;
}

async function startServer(version: PostgresVersion): Promise<Postgres> {
  const server = await Postgres.start({ version });
  process.env[connectionStringVariable(version)] = server.connectionString();
  return server;
}

/**
 * Starts every version that tests run on and for which no server is named in
 * the environment yet, and names it there.
 *
 * @internal
 */
export async function startTestServers(): Promise<Postgres[]> {
  const wanted = VERSIONS.filter(
    v => !process.env[connectionStringVariable(v)],
  );
  const available = wanted.filter(v => availableVersions().includes(v));
  for (const version of wanted.filter(v => !available.includes(v))) {
    // eslint-disable-next-line no-console
    console.warn(
      `No PostgreSQL ${version} for ${process.platform}-${
        process.arch
      }: its tests are left out unless ${connectionStringVariable(
        version,
      )} is set`,
    );
  }
  return await Promise.all(available.map(startServer));
}
