import { escapeIdentifier } from '../sql';
import { enumerate } from '../text';
import { run } from './Finding';
import type { IsolationFinding, QueryRows } from './Finding';

interface Facts {
  database: string;
  /** The version of the collation when the indexes were built; PostgreSQL 14 does not record it. */
  built: string | null;
  /** Of what autovacuum needs. */
  off: string[];
  unanalyzed: string[];
}

/**
 * What the operator of a server has to do for look-ups to be right and fast.
 *
 * @param schema - of the tables
 * @public
 */
export async function examineMaintenance(
  read: QueryRows,
  schema: string,
): Promise<IsolationFinding[]> {
  const [{ database, built, off, unanalyzed }] = await read<Facts>(
    `select d.datname as database, to_jsonb(d) ->> 'datcollversion' as built,
            array(select name from pg_catalog.pg_settings
                   where name in ('autovacuum', 'track_counts') and setting = 'off' order by 1) as off,
            array(select format('%I.%I', n.nspname, c.relname)
                    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = $1 and c.relkind = 'r' and c.reltuples < 0
                     -- Of smaller ones each plan is good.
                     and pg_catalog.pg_relation_size(c.oid) >= 1024 * 1024
                   order by 1) as unanalyzed
       from pg_catalog.pg_database d where d.datname = current_database()`,
    [schema],
  );
  const withoutStatistics = enumerate(unanalyzed);
  return [
    ...(built === null ? [] : await findCollation(read, database, built)),
    ...off.map(name => ({
      problem: `The server has turned off ${name}, so that autovacuum does not come, and reads get slower with each change`,
      remedy: run(`alter system set ${name} = on`, 'select pg_reload_conf()'),
    })),
    ...(unanalyzed.length === 0
      ? []
      : [
          {
            problem: `The server has no statistics of ${withoutStatistics}, as after pg_upgrade, so that reads are slow`,
            remedy: run('analyze'),
          },
        ]),
  ];
}

/**
 * Whether the operating system, or the library of ICU, sorts texts in another way than when the
 * indexes of the database were built, as after an upgrade of it.
 */
async function findCollation(
  read: QueryRows,
  name: string,
  built: string,
): Promise<IsolationFinding[]> {
  const [{ now }] = await read<{ now: string | null }>(
    `select pg_catalog.pg_database_collation_actual_version(oid) as now
       from pg_catalog.pg_database where datname = current_database()`,
    [],
  );
  const database = escapeIdentifier(name);
  return now === null || now === built
    ? []
    : [
        {
          problem: `The indexes of the database "${name}" were built with version ${built} of its collation, and it has ${now} now, so that look-ups of text may miss rows`,
          remedy: run(
            `reindex database concurrently ${database}`,
            `alter database ${database} refresh collation version`,
          ),
        },
      ];
}
