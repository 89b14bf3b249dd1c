/**
 * What test suites import, apart from the main entry point because of what it
 * depends on.
 *
 * @packageDocumentation
 */

import { TestDatabaseId, TestDatabases } from '@backstage/backend-test-utils';
import { setTimeout as delay } from 'node:timers/promises';
import { availableVersions } from './binaries';
import { connectionStringVariable } from './testServers';

export { Random } from './Random';

// Ends before Jest ends a test after ten minutes, so that a failure says what was waited for.
const DEADLINE_MS = 300_000;
const POLL_MS = 10;

/**
 * How long a test waits for something.
 *
 * @public
 */
export interface WaitOptions {
  /** 5 minutes by default: less than the ten that a test has, and enough for a busy machine. */
  withinMs?: number;
}

/**
 * What a promise resolves to.
 *
 * @param what - is waited for, for the message
 * @throws once the deadline has passed
 * @public
 */
export async function withDeadline<T>(
  what: string,
  promise: Promise<T>,
  options: WaitOptions = {},
): Promise<T> {
  const { withinMs = DEADLINE_MS } = options;
  // Made here, so that its stack names the test.
  const overdue = new Error(`Waited ${withinMs} ms in vain for ${what}`);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(overdue), withinMs);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Looks until there is something to see: a value that is not false, undefined, null, 0 or
 * an empty text.
 *
 * @param what - is waited for, for the message
 * @returns what was seen
 * @throws once the deadline has passed
 * @public
 */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T> | T,
  options: WaitOptions = {},
): Promise<Exclude<T, false | undefined | null | 0 | ''>> {
  let isOver = false;
  const looking = async () => {
    let seen = await look();
    while (!seen && !isOver) {
      await delay(POLL_MS);
      seen = await look();
    }
    return seen as Exclude<T, false | undefined | null | 0 | ''>;
  };
  try {
    return await withDeadline(what, looking(), options);
  } finally {
    isOver = true;
  }
}

/**
 * Tries until an attempt does not throw.
 *
 * @returns what the attempt returned
 * @throws what the last attempt threw, once the deadline has passed
 * @public
 */
export async function eventually<T>(
  attempt: () => Promise<T> | T,
  options: WaitOptions = {},
): Promise<T> {
  let last: unknown;
  const trying = async () => {
    try {
      return { result: await attempt() };
    } catch (error) {
      last = error;
      return undefined;
    }
  };
  try {
    const done = await waitUntil('an attempt to succeed', trying, options);
    return done.result;
  } catch (error) {
    throw last ?? error;
  }
}

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
  const created: CreatedDatabase[] = [];
  // Before the hook that TestDatabases.create registers, which has a minute for all of them.
  afterAll(() => dropDatabases(created));
  const databases = TestDatabases.create({ ids, disableDocker: true });
  const init = databases.init.bind(databases);
  databases.init = async id => {
    const knex = await init(id);
    created.push({ id, knex, createAnother: () => init(id) });
    return knex;
  };
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

type TestKnex = Awaited<ReturnType<TestDatabases['init']>>;

interface CreatedDatabase {
  id: TestDatabaseId;
  knex: TestKnex;
  /** On the same server, and not among those that are dropped here. */
  createAnother: () => Promise<TestKnex>;
}

/**
 * Drops databases, by the connection to another one of the same server. The server writes
 * a checkpoint for each, which takes a busy machine long.
 */
async function dropDatabases(created: CreatedDatabase[]): Promise<void> {
  for (const id of new Set(created.map(each => each.id))) {
    const ofServer = created.filter(each => each.id === id);
    const other = await ofServer[0].createAnother();
    for (const { knex } of ofServer) {
      await knex.destroy();
      await other.raw('drop database if exists ?? with (force)', [
        knex.client.config.connection.database,
      ]);
    }
  }
}
