import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ConcurrentIndexes } from './ConcurrentIndexes';
import {
  EngineTablesError,
  escapeIdentifier,
  escapeLiteral,
  hasCode,
} from './TablesSession';
import type { TablesSession, WaitOptions } from './TablesSession';

// Upstream's own migrations, in a schema that stands beside others with the same tables.

/** Where upstream's migrator keeps the version. */
export const VERSION_TABLE = 'knex_migrations';
const LOCK_TABLE = 'knex_migrations_lock';

// Knex sets is_locked to 1 and goes on only from 0. With another value, a later run knows
// that the holder was one of this class, which also has the advisory lock of the schema.
const LOCKED_BY_US = 2;

// What some of upstream's migrations set, longer than this session does.
const LOCK_TIMEOUT = /^\s*set\s+(?:local\s+|session\s+)?lock_timeout\b/i;

const PROGRESS_AFTER_MS = 2000;
const POLL_MS = 500;

interface Migration {
  up(knex: Knex): Promise<void>;
  config?: { transaction?: boolean };
}

/** The names of upstream's migrations, in the order in which they run. */
export async function listMigrations(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter(name => name.endsWith('.js'));
  if (names.length === 0) {
    throw new EngineTablesError(
      `The folder of the catalog's migrations has no file "*.js": ${directory}`,
    );
  }
  return names.sort();
}

/** The migrations that a schema has. Undefined where it has no tables of the catalog. */
export async function readVersion(
  session: TablesSession,
  schema: string,
): Promise<string[] | undefined> {
  const [{ exists }] = await session.query<{ exists: boolean }>(
    `select to_regclass($1) is not null as exists`,
    [`${escapeIdentifier(schema)}.${VERSION_TABLE}`],
  );
  if (!exists) {
    return undefined;
  }
  const rows = await session.query<{ name: string }>(
    `select name from ${escapeIdentifier(schema)}.${VERSION_TABLE} order by id`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Whether upstream's migrator is locked out of a schema by a run of this class: one that is
 * under way, or was killed when all but this was done.
 */
export async function isLockedByUs(
  session: TablesSession,
  schema: string,
): Promise<boolean> {
  const found = await session.query(
    `select from ${escapeIdentifier(
      schema,
    )}.${LOCK_TABLE} where is_locked = ${LOCKED_BY_US}`,
  );
  return found.length > 0;
}

/**
 * The query for what several schemas have: `schema`, `done` and, as by
 * {@link isLockedByUs}, `isLocked`.
 */
export function readVersions(schemas: { schema: string }[]): string {
  return schemas
    .map(({ schema }) => {
      const name = escapeIdentifier(schema);
      return `select ${escapeLiteral(schema)} as schema,
        array(select name::text from ${name}.${VERSION_TABLE}) as done,
        exists (select from ${name}.${LOCK_TABLE} where is_locked = ${LOCKED_BY_US}) as "isLocked"`;
    })
    .join(' union all ');
}

/** What a schema lacks of the migrations. */
export function missing(all: string[], done: string[]): string[] {
  const known = new Set(done);
  return all.filter(name => !known.has(name));
}

/**
 * Refuses a schema that a newer version of the catalog has migrated, as upstream does.
 *
 * @throws {@link EngineTablesError}
 */
export function refuseNewer(
  schema: string,
  all: string[],
  done: string[],
): void {
  const unknown = missing(done, all);
  if (unknown.length > 0) {
    throw new EngineTablesError(
      `The tables in the schema "${schema}" are those of another version of ` +
        `@backstage/plugin-catalog-backend: this one does not have ${unknown.join(
          ', ',
        )}. Deploy the newer version`,
    );
  }
}

export interface ApplyOptions extends WaitOptions {
  schema: string;
  directory: string;
  logger: LoggerService;
  /** What is brought up to date, for the log: `the tables of the tenant …`. */
  title: string;
  /**
   * - `private`: no other session knows the tables. Indexes are created without
   *   CONCURRENTLY, which would wait for every open snapshot of the database
   * - `tenant`: an engine may use the tables, and only this class migrates them
   * - `default`: the stock plugin of another process may migrate them too
   */
  tables: 'private' | 'tenant' | 'default';
  /**
   * Called after each migration, in its transaction if it has one (`isWhole`). The migration
   * fails with it.
   */
  afterEach?: (migration: { name: string; isWhole: boolean }) => Promise<void>;
}

/**
 * Runs the migrations that a schema lacks, one by one, each as upstream's migrator does:
 * in a transaction unless it says otherwise. What has committed stays, so a run that was
 * killed is gone on with. The caller holds the advisory lock of the schema.
 *
 * Locks: those of upstream's statements. A statement gives up after 100 ms to 1 s in which
 * others wait behind it, and the migration is tried again; see
 * {@link TablesSession.withLockRetries}. CREATE and DROP INDEX CONCURRENTLY hold up no
 * reads or writes, and wait without a limit.
 */
export async function applyMigrations(
  session: TablesSession,
  options: ApplyOptions,
): Promise<void> {
  const { schema, directory, logger, signal, title } = options;
  const all = await listMigrations(directory);
  await session.useSchema(schema);
  const statements = new ConcurrentIndexes(
    session,
    options.tables === 'private',
  );
  const knex = session.knex(
    message => logger.warn(`${title}: ${message}`),
    // Others wait behind a statement for as long as it waits itself.
    sql =>
      LOCK_TIMEOUT.test(sql)
        ? Promise.resolve(undefined)
        : statements.hook(sql),
  );
  // Creates the two tables of upstream's migrator where there are none.
  await knex.migrate.currentVersion();
  const done = (await readVersion(session, schema)) ?? [];
  refuseNewer(schema, all, done);
  const pending = missing(all, done);
  if (pending.length === 0) {
    if (await isLockedByUs(session, schema)) {
      await freeLockRow(session);
    }
    return;
  }
  statements.isRepeated = await takeLockRow(session, options);
  await hideOtherSchemas(session);
  const progress = reportProgress(options, all.length);
  progress.done = all.length - pending.length;
  // Whether what failed has left nothing.
  let isWhole = true;
  try {
    const batch = await nextBatch(session);
    for (const name of pending) {
      signal?.throwIfAborted();
      progress.current = name;
      const migration = await load(directory, name);
      const inTransaction = migration.config?.transaction !== false;
      isWhole = inTransaction;
      const run = async (target: Knex) => {
        await migration.up(target);
        await options.afterEach?.({ name, isWhole: inTransaction });
        await target(VERSION_TABLE).insert({
          name,
          batch,
          migration_time: new Date(),
        });
      };
      await session.withLockRetries(
        `${title}: ${name}`,
        options,
        inTransaction ? () => knex.transaction(run) : () => run(knex),
        () => {
          statements.isRepeated = true;
        },
      );
      statements.isRepeated = false;
      isWhole = true;
      progress.done += 1;
    }
  } catch (error) {
    // A migration that failed between two of its statements is recognised by the row that
    // stays locked. In the default catalog's tables, the stock plugin would not start then.
    if (isWhole || options.tables === 'default') {
      await freeLockRow(session).catch(() => undefined);
    }
    throw explain(session.withoutStatement(error), progress.current, options);
  } finally {
    progress.stop();
    await showOtherSchemas(session).catch(() => undefined);
  }
  // Without this the run has failed, and the next one frees the row.
  await freeLockRow(session);
}

async function load(directory: string, name: string): Promise<Migration> {
  return require(join(directory, name)) as Migration;
}

/** Catalogs in which migrations look for objects by name, and the column of their schema. */
const CATALOGS = {
  pg_class: 'relnamespace',
  pg_constraint: 'connamespace',
  pg_statistic_ext: 'stxnamespace',
};

/** Views of the same use, which have the schema's name. */
const CATALOG_VIEWS = ['pg_indexes', 'pg_tables', 'pg_views'];

/**
 * Makes the names of PostgreSQL's catalogs, in this session, mean those of the current
 * schema.
 *
 * Two of upstream's migrations look indexes and statistics up by name alone, so they take
 * those of another schema for their own and create none; see
 * docs/contributors/upstream-search-indices.md. PostgreSQL searches the temporary schema
 * first, even before pg_catalog. The views are gone with the session. Permanent ones would
 * stand in the way of pg_upgrade, should a catalog lose a column.
 */
async function hideOtherSchemas(session: TablesSession): Promise<void> {
  const views = [
    ...Object.entries(CATALOGS).map(
      ([catalog, column]) =>
        `create temporary view ${catalog} as
           select c.* from pg_catalog.${catalog} c
            where c.${column} = (select n.oid from pg_catalog.pg_namespace n
                                  where n.nspname = pg_catalog.current_schema())`,
    ),
    ...CATALOG_VIEWS.map(
      view =>
        `create temporary view ${view} as
           select v.* from pg_catalog.${view} v
            where v.schemaname = pg_catalog.current_schema()`,
    ),
  ];
  try {
    await session.query(views.join(';\n'));
  } catch (error) {
    if (hasCode(error, '42501')) {
      const [{ grant }] = await session.query<{ grant: string }>(
        `select format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), current_user) as grant`,
      );
      throw new EngineTablesError(
        `The login may not create temporary tables, which the catalog's migrations need: ${grant}`,
        { cause: error },
      );
    }
    throw error;
  }
}

async function showOtherSchemas(session: TablesSession): Promise<void> {
  for (const view of [...Object.keys(CATALOGS), ...CATALOG_VIEWS]) {
    await session.query(`drop view if exists pg_temp.${view}`);
  }
}

/**
 * Locks the row of upstream's migrator, so that it refuses to start beside this run.
 *
 * @returns whether a run was interrupted between two statements of a migration
 */
async function takeLockRow(
  session: TablesSession,
  { tables, schema, patienceMs, signal }: ApplyOptions,
): Promise<boolean> {
  const end = performance.now() + patienceMs;
  for (;;) {
    signal?.throwIfAborted();
    const [{ state }] = await session.query<{ state: number | null }>(
      `select max(is_locked) as state from ${LOCK_TABLE}`,
    );
    // The advisory lock proves that no process of this class is at it. The stock plugin
    // does not take that lock, and migrates the default catalog's tables only.
    const isStale = tables !== 'default' || state === LOCKED_BY_US;
    if (!state || isStale) {
      // Locks one row, which a migrator of upstream holds for a transaction at most.
      const taken = await session.query(
        `update ${LOCK_TABLE} set is_locked = ${LOCKED_BY_US}
          where is_locked is not distinct from $1 returning 1 as one`,
        [state],
      );
      if (taken.length > 0) {
        return Boolean(state);
      }
    } else if (performance.now() >= end) {
      throw new EngineTablesError(
        `The migrations of the catalog in the schema "${schema}" have been locked for more ` +
          `than ${Math.ceil(
            patienceMs / 1000,
          )} s, by a process that runs them or was ` +
          'killed meanwhile. If none runs them, release the lock: ' +
          `UPDATE ${escapeIdentifier(schema)}.${LOCK_TABLE} SET is_locked = 0`,
      );
    }
    // Not on the server: CREATE INDEX CONCURRENTLY would wait for the statement's snapshot.
    await delay(POLL_MS, undefined, { signal });
  }
}

async function freeLockRow(session: TablesSession): Promise<void> {
  await session.query(`update ${LOCK_TABLE} set is_locked = 0`);
}

async function nextBatch(session: TablesSession): Promise<number> {
  const [{ batch }] = await session.query<{ batch: number }>(
    `select coalesce(max(batch), 0) + 1 as batch from ${VERSION_TABLE}`,
  );
  return batch;
}

interface Progress {
  /** The migration that runs now. */
  current: string;
  done: number;
  stop(): void;
}

/** Reports how far a run is, every two seconds, and its end if it took as long as that. */
function reportProgress(
  { logger, title }: Pick<ApplyOptions, 'logger' | 'title'>,
  total: number,
): Progress {
  const startedAt = performance.now();
  const state = { current: '', done: 0 };
  const timer = setInterval(() => {
    const { done, current } = state;
    logger.info(`Migrating ${title}: ${done} of ${total} done, now ${current}`);
  }, PROGRESS_AFTER_MS);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    const passedMs = performance.now() - startedAt;
    if (state.done === total && passedMs >= PROGRESS_AFTER_MS) {
      logger.info(`Migrated ${title} in ${Math.round(passedMs / 1000)} s`);
    }
  };
  return Object.assign(state, { stop });
}

// The migration finds what it wants to make, or not what it removes: duplicate_column,
// duplicate_table, duplicate_object, undefined_column, undefined_table, undefined_object.
const HALF_DONE = ['42701', '42P07', '42710', '42703', '42P01', '42704'];

/** Names the migration, and what to do where a repetition can't help. */
function explain(
  error: unknown,
  migration: string,
  { title, tables, schema, signal }: ApplyOptions,
): unknown {
  if (signal?.aborted || error instanceof EngineTablesError) {
    return error;
  }
  const reason = error instanceof Error ? error.message : String(error);
  const advice =
    tables !== 'private' && hasCode(error, ...HALF_DONE)
      ? '. If an earlier run was killed in the middle of it, finish by hand in the schema ' +
        `"${schema}" what it does, and insert its name into ${VERSION_TABLE}`
      : '';
  return new EngineTablesError(
    `Migrating ${title}: ${migration} of the catalog failed: ${reason}${advice}`,
    { cause: error },
  );
}
