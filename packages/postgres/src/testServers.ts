import { randomBytes } from 'node:crypto';
import { accessSync, constants, statfsSync } from 'node:fs';
import { type ClientConfig, escapeIdentifier } from 'pg';
import { availableVersions, VERSIONS } from './binaries';
import { citusCoordinator, citusServers } from './CitusCluster';
import { Postgres } from './Postgres';
import { PostgresVersion } from './types';
import { withClient } from './withClient';

/** The variable in which Backstage's `TestDatabases` looks for a server. */
export function connectionStringVariable(version: PostgresVersion): string {
  return `BACKSTAGE_TEST_DATABASE_POSTGRES${version}_CONNECTION_STRING`;
}

/** Names a run of tests, which share the templates of their databases. */
const RUN_VARIABLE = 'BACKSTAGE_TEST_DATABASE_RUN';

/** How the names of databases begin that are templates of this run. */
export function templatePrefix(): string {
  return `template_${process.env[RUN_VARIABLE] ?? process.pid}_`;
}

/** Where Linux has a file system in memory. */
const MEMORY_FOLDER = '/dev/shm';

// The databases of all test files that run at a time, several times over.
const WANTED_BYTES = 8 * 1024 ** 3;

/**
 * A folder in memory, if there is one with room. A test's database, a copy of some three
 * hundred files, is made there in a sixth of the time.
 */
function memoryFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    accessSync(MEMORY_FOLDER, constants.W_OK);
    return bavail * bsize >= WANTED_BYTES ? MEMORY_FOLDER : undefined;
  } catch {
    return undefined;
  }
}

/**
 * As managed services are. With `policy`, the servers have a role portal_admin without
 * BYPASSRLS, which the migration then lets pass by policies. With `managed`, the tests connect
 * as a login that is no superuser and has CREATEROLE and CREATEDB: for those that need no more.
 */
const FORM_VARIABLE = 'PORTAL_ADMIN';

const OPERATOR = { user: 'operator', password: 'only-for-tests' };

/** The statements on a new server for {@link FORM_VARIABLE}. */
const FORMS: Record<string, string> = {
  policy: 'create role portal_admin nologin',
  // It ends the sessions of others before it drops a database.
  managed: `create role ${OPERATOR.user} login createrole createdb password '${OPERATOR.password}'
    in role pg_signal_backend`,
};

async function applyForm(server: Postgres): Promise<string> {
  const form = process.env[FORM_VARIABLE];
  const url = server.connectionString();
  if (!form) {
    return url;
  }
  if (!(form in FORMS)) {
    throw new Error(
      `${FORM_VARIABLE} must be ${Object.keys(FORMS).join(
        ' or ',
      )}, and is "${form}"`,
    );
  }
  await withClient(url, client => client.query(FORMS[form]));
  const { host, port } = server.connection;
  return form === 'managed'
    ? `postgresql://${OPERATOR.user}:${OPERATOR.password}@${host}:${port}/postgres`
    : url;
}

async function startServer(version: PostgresVersion): Promise<Postgres> {
  const server = await Postgres.start({
    version,
    temporaryFolder: memoryFolder(),
  });
  process.env[connectionStringVariable(version)] = await applyForm(server);
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
  process.env[RUN_VARIABLE] = randomBytes(4).toString('hex');
  return await Promise.all(available.map(startServer));
}

/**
 * Stops the servers that were started, and drops the templates of this run from those
 * that were there before.
 *
 * @internal
 */
export async function stopTestServers(started: Postgres[]): Promise<void> {
  await Promise.all(started.map(server => server.stop()));
  const stopped = started.map(
    ({ connection: { host, port } }) => `@${host}:${port}/`,
  );
  for (const version of VERSIONS) {
    const connectionString = process.env[connectionStringVariable(version)];
    if (
      connectionString &&
      !stopped.some(address => connectionString.includes(address))
    ) {
      await dropTemplates({ connectionString });
    }
  }
  for (const server of citusCoordinator() ? await citusServers() : []) {
    await dropTemplates({ ...server, database: 'postgres' });
  }
}

async function dropTemplates(connection: ClientConfig): Promise<void> {
  await withClient(connection, async client => {
    const { rows } = await client.query<{ name: string }>(
      'select datname as name from pg_database where starts_with(datname::text, $1)',
      [templatePrefix()],
    );
    for (const { name } of rows) {
      await client.query(
        `drop database ${escapeIdentifier(name)} with (force)`,
      );
    }
  });
}
