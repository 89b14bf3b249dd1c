import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';

// Look-ups in PostgreSQL's catalog of objects of the schema, the only one on the search
// path.

/** Whether a table, view or index of that name exists. */
export async function relationExists(
  executor: Executor,
  name: string,
): Promise<boolean> {
  const [{ found }] = await executor.read<{ found: boolean }>(
    'select to_regclass(quote_ident($1)) is not null as found',
    [name],
  );
  return found;
}

/** Those of some tables that exist. */
export async function existingTables<Table extends string>(
  executor: Executor,
  tables: readonly Table[],
): Promise<Table[]> {
  const found = await executor.read<{ name: Table }>(
    `select name from unnest($1::text[]) with ordinality as each (name, position)
      where to_regclass(quote_ident(name)) is not null order by position`,
    [tables],
  );
  return found.map(({ name }) => name);
}

/** Whether all of these tables are there, and the login may read them. */
export async function areReadable(
  { read }: Pick<Executor, 'read'>,
  tables: readonly string[],
): Promise<boolean> {
  const [{ readable }] = await read<{ readable: boolean }>(
    `select count(*) = $2 as readable
       from unnest($1::text[]) name
       join pg_class c on c.oid = to_regclass(quote_ident(name))
      where has_table_privilege(c.oid, 'select')`,
    [tables, tables.length],
  );
  return readable;
}

export async function columnExists(
  executor: Executor,
  table: string,
  column: string,
): Promise<boolean> {
  const rows = await executor.read(
    `select from pg_attribute
      where attrelid = to_regclass(quote_ident($1)) and attname = $2
        and not attisdropped`,
    [table, column],
  );
  return rows.length > 0;
}

type Validity = 'missing' | 'invalid' | 'valid';

/** An index that a CREATE INDEX CONCURRENTLY left unfinished is invalid. */
export function indexValidity(
  executor: Executor,
  index: string,
): Promise<Validity> {
  return validity(
    executor,
    `select indisvalid as valid from pg_index
      where indexrelid = to_regclass(quote_ident($1))`,
    [index],
  );
}

/** A constraint that is NOT VALID holds for new rows only. */
export function constraintValidity(
  executor: Executor,
  table: string,
  constraint: string,
): Promise<Validity> {
  return validity(
    executor,
    `select convalidated as valid from pg_constraint
      where conrelid = to_regclass(quote_ident($1)) and conname = $2`,
    [table, constraint],
  );
}

async function validity(
  executor: Executor,
  sql: string,
  values: string[],
): Promise<Validity> {
  const [row] = await executor.read<{ valid: boolean }>(sql, values);
  if (!row) {
    return 'missing';
  }
  return row.valid ? 'valid' : 'invalid';
}

/**
 * The schema that an extension stands in, as SQL.
 *
 * @throws {@link RefusedError} if the extension is not installed
 */
export async function extensionSchema(
  executor: Executor,
  extension: string,
): Promise<string> {
  const [row] = await executor.read<{ name: string }>(
    `select quote_ident(nspname) as name
       from pg_extension e join pg_namespace n on n.oid = e.extnamespace
      where e.extname = $1`,
    [extension],
  );
  if (!row) {
    throw new RefusedError(
      `The extension ${extension} is not installed in this database. Run "create extension ` +
        `${extension}" there, as a role that may.`,
    );
  }
  return row.name;
}

/** The extensions that phase 1 creates where they are missing (specification, B). */
export const REQUIRED_EXTENSIONS = ['uuid-ossp', 'pg_trgm'] as const;
