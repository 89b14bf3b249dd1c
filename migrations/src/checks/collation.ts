import { escapeIdentifier } from '../sql';
import { run } from './Finding';
import type { IsolationFinding, QueryRows } from './Finding';

/**
 * Whether the operating system, or the library of ICU, sorts texts in another way than when the
 * indexes of the database were built, as after an upgrade of it. PostgreSQL 14 does not record
 * that.
 *
 * @public
 */
export async function examineCollation(
  read: QueryRows,
): Promise<IsolationFinding | undefined> {
  const [{ name, built }] = await read<{ name: string; built: string | null }>(
    `select datname as name, to_jsonb(d) ->> 'datcollversion' as built
       from pg_catalog.pg_database d where datname = current_database()`,
    [],
  );
  if (built === null) {
    return undefined;
  }
  const [{ now }] = await read<{ now: string | null }>(
    `select pg_catalog.pg_database_collation_actual_version(oid) as now
       from pg_catalog.pg_database where datname = current_database()`,
    [],
  );
  const database = escapeIdentifier(name);
  return now === null || now === built
    ? undefined
    : {
        problem: `The indexes of the database "${name}" were built with version ${built} of its collation, and it has ${now} now, so that look-ups of text may miss rows`,
        remedy: run(
          `reindex database concurrently ${database}`,
          `alter database ${database} refresh collation version`,
        ),
      };
}
