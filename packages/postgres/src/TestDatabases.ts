import { createHash, randomBytes } from 'node:crypto';
import knexFactory from 'knex';
import type { Knex } from 'knex';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { availableVersions, VERSIONS } from './binaries';
import { connectionStringVariable, templatePrefix } from './testServers';
import type { PostgresVersion } from './types';

/**
 * A version of PostgreSQL that tests run on.
 *
 * @public
 */
export type TestDatabaseId = `POSTGRES_${PostgresVersion}`;

/**
 * A database that all test files of a run prepare once for each version of PostgreSQL.
 *
 * @public
 */
export interface DatabaseTemplate {
  /** Names what is prepared, with everything that makes a difference. */
  name: string;
  /** Fills an empty database as its superuser, and closes what it has opened. */
  prepare(connection: ClientConfig): Promise<void>;
}

/**
 * Databases of one test file, on the servers that this package's jest set-up has started.
 *
 * They do what `TestDatabases` of `@backstage/backend-test-utils` does. That package
 * loads a whole backend, which took most test files longer than their tests.
 *
 * @public
 */
export class TestDatabases {
  static create(ids: TestDatabaseId[]): TestDatabases {
    const databases = new TestDatabases(ids);
    // The servers go on: without this their disk would hold the databases of all tests.
    afterAll(() => databases.drop());
    return databases;
  }

  private readonly created: { id: TestDatabaseId; database: string }[] = [];
  private readonly pools: Knex[] = [];

  private constructor(private readonly ids: TestDatabaseId[]) {}

  /** For `describe.each` and `it.each`: a row for each version. */
  eachSupportedId(): [TestDatabaseId][] {
    return this.ids.map(id => [id]);
  }

  supports(id: TestDatabaseId): boolean {
    return this.ids.includes(id);
  }

  /**
   * Creates a database, which is dropped after all tests of the file.
   *
   * @param template - what it is a copy of; empty without one
   * @returns how its superuser connects to it
   */
  async create(
    id: TestDatabaseId,
    template?: DatabaseTemplate,
  ): Promise<ClientConfig> {
    const database = `db${randomBytes(16).toString('hex')}`;
    const connection = { ...serverOf(id), database };
    await administer(id, async admin => {
      const source =
        template === undefined
          ? 'template1'
          : await prepared(admin, id, template);
      await admin.query(`create database ${database} template ${source}`);
    });
    this.created.push({ id, database });
    return connection;
  }

  /**
   * Creates an empty database, as {@link TestDatabases.create} does.
   *
   * @returns connections to it, for which `client.config.connection` has the settings
   */
  async init(id: TestDatabaseId): Promise<Knex> {
    const { host, port, user, password, ssl, database } = await this.create(id);
    const knex = knexFactory({
      client: 'pg',
      connection: { host, port, user, password, ssl, database },
      pool: { min: 0, max: 50 },
    });
    this.pools.push(knex);
    return knex;
  }

  private async drop(): Promise<void> {
    await Promise.all(this.pools.map(knex => knex.destroy()));
    for (const id of this.ids) {
      const ofServer = this.created.filter(each => each.id === id);
      if (ofServer.length > 0) {
        await administer(id, async admin => {
          for (const { database } of ofServer) {
            await admin.query(
              `drop database if exists ${database} with (force)`,
            );
          }
        });
      }
    }
  }
}

/** Set by `.ci/run`: no test file leaves a version out. */
const EVERY_VERSION = Boolean(process.env.TEST_EVERY_POSTGRES_VERSION);

/**
 * The databases of a test file, on PostgreSQL 14 and 18.
 *
 * A server that is missing makes it throw, so that no suite runs fewer tests, or none,
 * without a word. Only version 14 may be missing, on platforms for which npm has no
 * binaries of it.
 *
 * Call it outside of any test.
 *
 * @param options - `newest`: on PostgreSQL 18 alone, unless `TEST_EVERY_POSTGRES_VERSION`
 *   is set. For what HTTP requests are answered, whose SQL other tests run on both.
 * @public
 */
export function createTestDatabases(
  options: { versions?: 'all' | 'newest' } = {},
): TestDatabases {
  const newestAlone = options.versions === 'newest' && !EVERY_VERSION;
  const wanted = VERSIONS.filter(
    version =>
      version !== 14 ||
      (!newestAlone &&
        (availableVersions().includes(version) || connectionString(version))),
  );
  const missing = wanted.filter(version => !connectionString(version));
  if (missing.length > 0) {
    throw new Error(
      `No test database for PostgreSQL ${missing.join(
        ', ',
      )}: run the tests with ` +
        `"globalSetup": "@internal/postgres/jest/globalSetup", or set ` +
        `${missing.map(connectionStringVariable).join(', ')}`,
    );
  }
  return TestDatabases.create(
    wanted.map((version): TestDatabaseId => `POSTGRES_${version}`),
  );
}

function connectionString(version: PostgresVersion): string | undefined {
  return process.env[connectionStringVariable(version)];
}

function serverOf(id: TestDatabaseId): ClientConfig {
  const version = id === 'POSTGRES_14' ? 14 : 18;
  const { host, port, user, password, ssl } = parseIntoClientConfig(
    connectionString(version) ?? '',
  );
  return { host, port, user, password, ssl };
}

async function administer(
  id: TestDatabaseId,
  use: (admin: Client) => Promise<void>,
): Promise<void> {
  const admin = new Client({ ...serverOf(id), database: 'postgres' });
  await admin.connect();
  try {
    await use(admin);
  } finally {
    await admin.end();
  }
}

/**
 * The database of a template, which the first test file that asks for it prepares. The
 * others wait for an advisory lock meanwhile. A name that exists is prepared to its end:
 * it is given last.
 */
async function prepared(
  admin: Client,
  id: TestDatabaseId,
  { name, prepare }: DatabaseTemplate,
): Promise<string> {
  const database =
    templatePrefix() + createHash('md5').update(name).digest('hex');
  await admin.query('select pg_advisory_lock(hashtext($1))', [database]);
  try {
    const { rowCount } = await admin.query(
      'select from pg_database where datname = $1',
      [database],
    );
    if (rowCount === 0) {
      const draft = `${database}_draft`;
      await admin.query(`drop database if exists ${draft} with (force)`);
      await admin.query(`create database ${draft}`);
      await prepare({ ...serverOf(id), database: draft });
      // A database to which somebody is connected can't be copied.
      await admin.query(`alter database ${draft} allow_connections false`);
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`,
        [draft],
      );
      await admin.query(`alter database ${draft} rename to ${database}`);
    }
    return database;
  } finally {
    await admin.query('select pg_advisory_unlock(hashtext($1))', [database]);
  }
}
