import type { Postgres } from '@internal/postgres';
import { createCatalogTables } from './engine';
import { type Database, runStatements, withClient } from './database';
import { operate, SCHEMA } from './operator';
import { fillStatements } from './rows';
import type { Size } from './sizes';

/** As whom the application of before the migration connects. */
export const OLD_LOGIN = 'catalog_app';

/** The password of all logins; the server is gone after the run. */
export const PASSWORD = 'only-for-benchmarks';

/** Creates a single-tenant catalog as it is before phase 1. */
export async function createCatalog(
  postgres: Postgres,
  name: string,
  size: Size,
): Promise<Database> {
  const catalog = { postgres, name };
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
    `create role ${OLD_LOGIN} login password '${PASSWORD}'`,
  ]);
  await operate(catalog, migration => createCatalogTables(migration.context));
  await runStatements(catalog, [
    `set search_path = ${SCHEMA}`,
    ...fillStatements(size),
    `grant usage on schema ${SCHEMA} to ${OLD_LOGIN}`,
    `grant select, insert, update, delete on all tables in schema ${SCHEMA} to ${OLD_LOGIN}`,
  ]);
  return catalog;
}

/** What there is to move: rows, and the bytes of tables and indexes. */
export async function describeCatalog(database: Database): Promise<string> {
  return withClient(database, async client => {
    const { rows } = await client.query(
      `select to_char((select count(*) from ${SCHEMA}.entities), 'FM999,999,999') as entities,
              to_char((select count(*) from ${SCHEMA}.relations), 'FM999,999,999') as relations,
              to_char((select count(*) from ${SCHEMA}.refresh_state), 'FM999,999,999') as states,
              (select round(avg(length(final_entity::text))) from ${SCHEMA}.entities tablesample system (10)) as bytes,
              pg_size_pretty(pg_database_size(current_database())) as size`,
    );
    const [{ entities, relations, states, bytes, size }] = rows;
    return (
      `${entities} entities of ${bytes} characters of JSON on average, ${relations} relations, ` +
      `${states} rows of refresh_state: ${size} with indexes`
    );
  });
}
