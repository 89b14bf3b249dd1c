import { createHash, randomBytes } from 'node:crypto';
import { relative } from 'node:path';
import knexFactory from 'knex';
import type { Knex } from 'knex';
import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { availableVersions, VERSIONS } from './binaries';
import {
  CITUS_VARIABLE,
  citusCoordinator,
  citusServers,
  formCluster,
} from './CitusCluster';
import { connectionStringVariable, templatePrefix } from './testServers';
import type { PostgresVersion } from './types';
import { withClient } from './withClient';

/**
 * A version of PostgreSQL that tests run on, or the Citus cluster that `TENANCY_CITUS_URL`
 * names.
 *
 * @public
 */
export type TestDatabaseId = `POSTGRES_${PostgresVersion}` | typeof CITUS;

const CITUS = 'CITUS';

/**
 * A database that all test files of a run prepare once for each version of PostgreSQL.
 *
 * @public
 */
export interface DatabaseTemplate {
  /** Names what is prepared, with everything that makes a difference. */
  name: string;
  /** Fills an empty database as its superuser, and closes what it has opened. */
  prepare(connection: ClientConfig, id: TestDatabaseId): Promise<void>;
}

/** Nodes that know of each other, which takes seconds. */
const EMPTY_CLUSTER: DatabaseTemplate = {
  name: `empty, of ${CITUS_VARIABLE}`,
  prepare: ({ database }) => formCluster(database!),
};

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
    this.created.push({ id, database });
    const source = await this.source(id, template);
    await administer(id, admin => copyDatabase(admin, database, source));
    return connection;
  }

  /**
   * Creates an empty database with options of CREATE DATABASE, such as another encoding. It
   * is dropped like those of {@link TestDatabases.create}.
   */
  async createWith(id: TestDatabaseId, options: string): Promise<ClientConfig> {
    const database = `db${randomBytes(16).toString('hex')}`;
    this.created.push({ id, database });
    await administer(id, async admin => {
      await admin.query(
        `create database ${database} template template0 ${options}`,
      );
    });
    return { ...serverOf(id), database };
  }

  private async source(
    id: TestDatabaseId,
    template?: DatabaseTemplate,
  ): Promise<string> {
    const empty =
      id === CITUS
        ? await prepared(id, 'template1', EMPTY_CLUSTER)
        : 'template1';
    return template ? prepared(id, empty, template) : empty;
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

/**
 * Which versions of PostgreSQL a test file runs on.
 *
 * - `newest`: 18 alone. For what PostgreSQL has no part in, such as the parsing of requests,
 *   authorization and texts, and for SQL that another file runs on both
 *
 * - `every`: 14 too. For what differs between the two in our code or in PostgreSQL's
 *   rules, and for walks through everything
 *
 * Without one of them, 18 alone, and 14 too where `TEST_EVERY_POSTGRES_VERSION` is `1`. Any
 * other text chooses an eighth of the test files for 14, as the commit does in `.ci/run`.
 *
 * A file with `citus` holds on tables that Citus has distributed too. Where
 * `TENANCY_CITUS_URL` names a cluster, it runs on that alone.
 *
 * @public
 */
export interface VersionsOptions {
  versions?: 'newest' | 'every';
  citus?: boolean;
}

const NEWEST = 18;

function isTested(version: PostgresVersion, options: VersionsOptions): boolean {
  const { versions } = options;
  return (
    version === NEWEST ||
    versions === 'every' ||
    (versions === undefined && isOnEveryVersion())
  );
}

/** Of so many test files, a text chooses one. */
const SHARES = 8;

/** Whether this test file runs on every version, of those that leave that open. */
function isOnEveryVersion(): boolean {
  const choice = process.env.TEST_EVERY_POSTGRES_VERSION;
  if (!choice || choice === '1') {
    return Boolean(choice);
  }
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const hash = createHash('sha256').update(`${choice}: ${file}`).digest();
  return hash[0] % SHARES === 0;
}

/**
 * The versions that a test file runs on which starts servers itself.
 *
 * @public
 */
export function testedVersions(
  options: VersionsOptions = {},
): PostgresVersion[] {
  return availableVersions().filter(version => isTested(version, options));
}

/**
 * The databases of a test file, on PostgreSQL 18 unless the options say more.
 *
 * A server that is missing makes it throw, so that no suite runs fewer tests, or none,
 * without a word. Only version 14 may be missing, on platforms for which npm has no
 * binaries of it.
 *
 * Call it outside of any test.
 *
 * @public
 */
export function createTestDatabases(
  options: VersionsOptions = {},
): TestDatabases {
  if (options.citus && citusCoordinator()) {
    return TestDatabases.create([CITUS]);
  }
  const wanted = VERSIONS.filter(
    version =>
      isTested(version, options) &&
      (version !== 14 ||
        availableVersions().includes(version) ||
        connectionString(version)),
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
  const coordinator = citusCoordinator();
  if (id === CITUS && coordinator) {
    return coordinator;
  }
  const version = id === 'POSTGRES_14' ? 14 : 18;
  const { host, port, user, password, ssl } = parseIntoClientConfig(
    connectionString(version) ?? '',
  );
  return { host, port, user, password, ssl };
}

/** On each server that has a part of the database, the one that clients connect to first. */
async function administer(
  id: TestDatabaseId,
  use: (admin: Client) => Promise<void>,
): Promise<void> {
  const servers = id === CITUS ? await citusServers() : [serverOf(id)];
  for (const server of servers) {
    await withClient({ ...server, database: 'postgres' }, use);
  }
}

/**
 * Creates a database as a copy of one, and ends the sessions in that, since PostgreSQL
 * copies no database that has any.
 *
 * It copies the files. From version 15 on PostgreSQL writes each page to its log by
 * default, which takes three times as long, as does the removal of the copy then.
 *
 * @public
 */
export async function copyDatabase(
  admin: Client,
  name: string,
  template: string,
): Promise<void> {
  const { rows } = await admin.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const strategy = rows[0].version >= 150000 ? 'strategy file_copy' : '';
  await disconnectAll(admin, template);
  await admin.query(
    `create database "${name}" template "${template}" ${strategy}`,
  );
}

const IN_USE = '55006';
const ATTEMPTS = 50;

/** Citus has sessions of its own, which take a moment to end. */
async function renameDatabase(
  admin: Client,
  from: string,
  to: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin.query(`alter database ${from} rename to ${to}`);
      return;
    } catch (error) {
      const isInUse = error instanceof DatabaseError && error.code === IN_USE;
      if (!isInUse || attempt === ATTEMPTS) {
        throw error;
      }
      await disconnectAll(admin, from);
      await admin.query('select pg_sleep(0.1)');
    }
  }
}

async function disconnectAll(admin: Client, database: string): Promise<void> {
  await admin.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
    [database],
  );
}

/**
 * The database of a template, which the first test file that asks for it prepares. The
 * others wait for an advisory lock meanwhile. A name that exists is prepared to its end:
 * it is given last.
 */
async function prepared(
  id: TestDatabaseId,
  source: string,
  { name, prepare }: DatabaseTemplate,
): Promise<string> {
  const database =
    templatePrefix() + createHash('md5').update(name).digest('hex');
  return withClient({ ...serverOf(id), database: 'postgres' }, async guard => {
    await guard.query('select pg_advisory_lock(hashtext($1))', [database]);
    const { rowCount } = await guard.query(
      'select from pg_database where datname = $1',
      [database],
    );
    if (rowCount === 0) {
      const draft = `${database}_draft`;
      await administer(id, async admin => {
        await admin.query(`drop database if exists ${draft} with (force)`);
        await copyDatabase(admin, draft, source);
      });
      await prepare({ ...serverOf(id), database: draft }, id);
      await administer(id, async admin => {
        // No session may connect to it while others copy it.
        await admin.query(`alter database ${draft} allow_connections false`);
        await disconnectAll(admin, draft);
      });
      await administer(id, async admin => {
        await renameDatabase(admin, draft, database);
      });
    }
    return database;
  });
}
