import { randomBytes } from 'node:crypto';
import knexFactory from 'knex';
import type { Knex } from 'knex';
import { parseIntoClientConfig } from 'pg-connection-string';
import { availableVersions, VERSIONS } from './binaries';
import { connectionStringVariable } from './testServers';
import type { PostgresVersion } from './types';

/**
 * A version of PostgreSQL that tests run on.
 *
 * @public
 */
export type TestDatabaseId = `POSTGRES_${PostgresVersion}`;

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

  private readonly created: { id: TestDatabaseId; knex: Knex }[] = [];

  private constructor(private readonly ids: TestDatabaseId[]) {}

  /** For `describe.each` and `it.each`: a row for each version. */
  eachSupportedId(): [TestDatabaseId][] {
    return this.ids.map(id => [id]);
  }

  supports(id: TestDatabaseId): boolean {
    return this.ids.includes(id);
  }

  /**
   * Creates an empty database, which is dropped after all tests of the file.
   *
   * @returns connections to it, for which `client.config.connection` has the settings
   */
  async init(id: TestDatabaseId): Promise<Knex> {
    const database = `db${randomBytes(16).toString('hex')}`;
    await administer(id, async admin => {
      await admin.raw('create database ??', [database]);
    });
    const knex = connect(id, database);
    this.created.push({ id, knex });
    return knex;
  }

  private async drop(): Promise<void> {
    for (const id of this.ids) {
      const ofServer = this.created.filter(each => each.id === id);
      if (ofServer.length > 0) {
        await administer(id, async admin => {
          for (const { knex } of ofServer) {
            await knex.destroy();
            await admin.raw('drop database if exists ?? with (force)', [
              knex.client.config.connection.database,
            ]);
          }
        });
      }
    }
  }
}

/**
 * The databases of a test file, on PostgreSQL 14 and 18.
 *
 * A server that is missing makes it throw, so that no suite runs fewer tests, or none,
 * without a word. Only version 14 may be missing, on platforms for which npm has no
 * binaries of it.
 *
 * Call it outside of any test.
 *
 * @public
 */
export function createTestDatabases(): TestDatabases {
  const wanted = VERSIONS.filter(
    version =>
      version !== 14 ||
      availableVersions().includes(version) ||
      connectionString(version),
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

async function administer(
  id: TestDatabaseId,
  use: (admin: Knex) => Promise<void>,
): Promise<void> {
  const admin = connect(id, 'postgres');
  try {
    await use(admin);
  } finally {
    await admin.destroy();
  }
}

function connect(id: TestDatabaseId, database: string): Knex {
  const version = id === 'POSTGRES_14' ? 14 : 18;
  const { host, port, user, password, ssl } = parseIntoClientConfig(
    connectionString(version) ?? '',
  );
  return knexFactory({
    client: 'pg',
    connection: { host, port, user, password, ssl, database },
    pool: { min: 0, max: 50 },
  });
}
