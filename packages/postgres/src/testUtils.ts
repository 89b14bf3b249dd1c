/**
 * What test suites import, apart from the main entry point because of what it
 * depends on.
 *
 * @packageDocumentation
 */

import { TestDatabaseId, TestDatabases } from '@backstage/backend-test-utils';
import { availableVersions } from './binaries';
import { connectionStringVariable } from './testServers';

/**
 * `TestDatabases` on PostgreSQL 14 and 18, as started by this package's jest set-up.
 *
 * A database that is missing makes it throw, where `TestDatabases` itself would
 * leave it out without a word and run fewer tests, or none. Only version 14 may
 * be missing, on platforms for which npm has no binaries of it.
 *
 * Call it where `TestDatabases.create` is called: outside of any test.
 *
 * @public
 */
export function createTestDatabases(): TestDatabases {
  const ids: TestDatabaseId[] = ['POSTGRES_18'];
  if (
    availableVersions().includes(14) ||
    process.env[connectionStringVariable(14)]
  ) {
    ids.unshift('POSTGRES_14');
  }
  const databases = TestDatabases.create({ ids, disableDocker: true });
  const missing = ids.filter(id => !databases.supports(id));
  if (missing.length > 0) {
    throw new Error(
      `No test database for ${missing.join(
        ', ',
      )}: run the tests with "globalSetup": ` +
        `"@internal/postgres/jest/globalSetup", or set BACKSTAGE_TEST_DATABASE_*_CONNECTION_STRING`,
    );
  }
  return databases;
}
