/**
 * What test suites import, apart from the main entry point because of what it
 * depends on.
 *
 * @packageDocumentation
 */

import { setTimeout as delay } from 'node:timers/promises';

export { changeRole } from './changeRole';
export { citusServers, dissolveCluster, formCluster } from './CitusCluster';
export { alterDatabase, HOSTILE_SETTINGS } from './hostileSettings';
export { Random } from './Random';
export { repositoryFiles } from './repositoryFiles';
export { SINGLE_TENANT_TABLES } from './singleTenantTables';
export {
  copyDatabase,
  createTestDatabases,
  type DatabaseTemplate,
  type TestDatabaseId,
  TestDatabases,
  testedVersions,
  type VersionsOptions,
} from './TestDatabases';
export { withClient } from './withClient';
export { type EntityWrite, writeEntities } from './writeEntities';

// Ends before Jest ends a test after ten minutes, so that a failure says what was waited
// for. Mutation checks shorten it: their tests are meant to fail, often by waiting in vain.
const DEADLINE_MS = Number(process.env.TEST_DEADLINE_MS ?? 300_000);

// Between two looks: four times as long as a look takes, within limits. A look that connects
// to PostgreSQL costs both sides some ten milliseconds of CPU, which what is waited for needs.
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 50;
const PAUSE_PER_LOOK = 4;

function pauseAfter(lookMs: number): number {
  return Math.min(
    Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_LOOK * lookMs),
    LONGEST_PAUSE_MS,
  );
}

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
    for (;;) {
      const began = performance.now();
      const seen = await look();
      if (seen || isOver) {
        return seen as Exclude<T, false | undefined | null | 0 | ''>;
      }
      await delay(pauseAfter(performance.now() - began));
    }
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
