import type { Knex } from 'knex';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { escapeIdentifier } from 'pg';
import { EngineTablesError, isLockFailure } from './TablesSession';
import type { TablesSession, WaitOptions } from './TablesSession';

// Upstream's own migrations, in a schema that stands beside others with the same tables.

/** Where upstream's migrator keeps the version. */
export const VERSION_TABLE = 'knex_migrations';

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

/** The migrations that a schema lacks. */
export function missing(all: string[], done: string[]): string[] {
  const known = new Set(done);
  return all.filter(name => !known.has(name));
}

/** Refuses a schema that a newer version of the catalog has migrated, as upstream does. */
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

// A session that migrates holds a lock for a change of the catalog on a table, or that of the row
// in which Knex records a migration. Of other logins only some see the kind of a session.
const MIGRATING = `
  select l.pid, coalesce(nullif(min(a.application_name), ''), 'no application_name') as name
    from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
   where n.nspname = $1 and l.pid <> pg_backend_pid() and a.datname = current_database()
     and a.usesysid is not null and coalesce(a.backend_type, 'client backend') = 'client backend'
     and (l.mode in ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'AccessExclusiveLock')
       or l.mode = 'RowExclusiveLock' and c.relname like '%migrations')
   group by l.pid order by l.pid limit 1`;

const LOOK_MS = 250;

/** Between two migrations of a process, one look may find no lock. */
const LOOKS = 2;

/**
 * The tables, as SQL, in which Knex has marked a migration as running. A process that was killed
 * leaves the mark, and each later start would fail.
 */
export async function markedMigrations(
  session: TablesSession,
  schema: string,
): Promise<string[]> {
  const tables = await session.query<{ name: string }>(
    `select c.relname as name
       from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where n.nspname = $1 and c.relkind = 'r'
      group by c.relname
     having array_agg(a.attname::text order by a.attnum) = array['index', 'is_locked']`,
    [schema],
  );
  const marked: string[] = [];
  for (const { name } of tables) {
    const table = `${escapeIdentifier(schema)}.${escapeIdentifier(name)}`;
    const marks = `select from ${table} where is_locked = 1`;
    if ((await session.query(marks)).length > 0) {
      marked.push(table);
    }
  }
  return marked;
}

/**
 * Removes the marks of processes that were killed. No process of this product migrates while this
 * one holds the advisory lock, which a stock one does not know: one that is at work is waited for.
 *
 * The row lock of the update lasts for the statement.
 *
 * @throws {@link EngineTablesError} where another process still migrates when the patience is over
 */
export async function unlockMigrations(
  session: TablesSession,
  schema: string,
  wait: WaitOptions,
): Promise<void> {
  for (const table of await markedMigrations(session, schema)) {
    await whileOthersMigrate(session, schema, wait);
    await session.query(
      `update ${table} set is_locked = 0 where is_locked = 1`,
    );
  }
}

async function whileOthersMigrate(
  session: TablesSession,
  schema: string,
  { patienceMs, signal }: WaitOptions,
): Promise<void> {
  const end = performance.now() + patienceMs;
  for (let looks = 0; looks < LOOKS; ) {
    const [other] = await session.query<{ pid: number; name: string }>(
      MIGRATING,
      [schema],
    );
    looks = other ? 0 : looks + 1;
    if (other && performance.now() >= end) {
      throw new EngineTablesError(
        `Process ${other.pid} of the server (${other.name}) has changed the tables in the schema ` +
          `"${schema}" for more than ${Math.ceil(
            patienceMs / 1000,
          )} s. Wait for it to end, or stop it`,
      );
    }
    await delay(LOOK_MS, undefined, { signal });
  }
}

const TRANSACTION_COMMIT = /^\s*commit\b/i;
const CONCURRENTLY =
  /^\s*(create\s+(?:unique\s+)?|drop\s+)index\s+concurrently\b/i;
const LEFT_OUT = [
  /^\s*(begin|start\s+transaction)\b/i,
  /^\s*rollback\s*;?\s*$/i,
  // Some of upstream's migrations wait for locks for longer than this session does.
  /^\s*set\s+(?:local\s+|session\s+)?lock_timeout\b/i,
];

/**
 * Runs the migrations that the tables of a tenant lack, all of them in an empty schema. The
 * caller has begun a transaction, and holds the lock of the schema.
 *
 * Locks: those of upstream's statements, on tables that the caller has made or locked.
 *
 * @throws {@link EngineTablesError} that names the migration
 */
export async function migrateTenant(
  session: TablesSession,
  options: {
    schema: string;
    /** The folder of upstream's migrations. */
    directory: string;
    /** The name of the migrated tables in messages. */
    title: string;
    warn: (message: string) => void;
    /** Called after each migration, which fails with it. */
    afterEach?: (name: string) => Promise<void>;
  },
): Promise<void> {
  const { schema, directory, title, warn, afterEach } = options;
  const all = await listMigrations(directory);
  const knex = session.knex({
    warn: message => warn(`${title}: ${message}`),
    change: asPartOfTransaction,
  });
  await session.useSchema(schema);
  // A table with pending triggers can't be altered.
  await session.query('set constraints all immediate');
  await withOwnCatalogs(session, async () => {
    // Creates the tables of upstream's migrator where there are none.
    await knex.migrate.currentVersion();
    const done = (await readVersion(session, schema)) ?? [];
    refuseNewer(schema, all, done);
    const batch = await nextBatch(session);
    for (const name of missing(all, done)) {
      try {
        await runMigration(knex, { directory, name, batch });
        await afterEach?.(name);
      } catch (error) {
        throw isLockFailure(error) || error instanceof EngineTablesError
          ? error
          : new EngineTablesError(
              `Migrating ${title}: ${name} of the catalog failed: ${session.messageOf(
                error,
              )}`,
              { cause: error },
            );
      }
    }
  });
}

async function runMigration(
  knex: Knex,
  options: { directory: string; name: string; batch: number },
): Promise<void> {
  const { directory, name, batch } = options;
  const migration = require(join(directory, name)) as Migration;
  const run = async (target: Knex) => {
    await migration.up(target);
    await target(VERSION_TABLE).insert({
      name,
      batch,
      migration_time: new Date(),
    });
  };
  await (migration.config?.transaction === false
    ? run(knex)
    : knex.transaction(run));
}

/**
 * A statement of a migration as it runs within one transaction around all of them. There,
 * CONCURRENTLY is not possible. At the end of a migration its deferred constraints are checked,
 * as a commit would do it.
 */
function asPartOfTransaction(sql: string): string | undefined {
  if (TRANSACTION_COMMIT.test(sql)) {
    return 'set constraints all immediate';
  }
  if (LEFT_OUT.some(each => each.test(sql))) {
    return undefined;
  }
  return CONCURRENTLY.test(sql) ? sql.replace(/\sconcurrently\b/i, '') : sql;
}

async function nextBatch(session: TablesSession): Promise<number> {
  const [{ batch }] = await session.query<{ batch: number }>(
    `select coalesce(max(batch), 0) + 1 as batch from ${VERSION_TABLE}`,
  );
  return batch;
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
 * schema while migrations run.
 *
 * Two of upstream's migrations (4.0.0 to 4.0.5) look indexes and statistics up by name alone,
 * 20260510000000_search_indices_and_dedup.js and 20260519000000_search_extended_statistics.js.
 * So they take those of another schema for their own and create none, and fail with "more than
 * one row returned by a subquery" where two schemas have them. PostgreSQL searches the temporary schema
 * first, even before pg_catalog. The views are gone with the session. Permanent ones would
 * stand in the way of pg_upgrade, should a catalog lose a column.
 */
export async function withOwnCatalogs<T>(
  session: TablesSession,
  work: () => Promise<T>,
): Promise<T> {
  await hideOtherSchemas(session);
  try {
    return await work();
  } finally {
    // A transaction that has failed takes them along.
    await showOtherSchemas(session).catch(() => undefined);
  }
}

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
  await session.query(views.join(';\n'));
}

async function showOtherSchemas(session: TablesSession): Promise<void> {
  for (const view of [...Object.keys(CATALOGS), ...CATALOG_VIEWS]) {
    await session.query(`drop view if exists pg_temp.${view}`);
  }
}
