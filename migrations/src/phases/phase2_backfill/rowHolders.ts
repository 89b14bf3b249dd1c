import type { MigrationSession } from '../../session/MigrationSession';
import type { TenantTable } from '../../schema/tables';

/**
 * Who may have rows of a table locked, the longest transaction first.
 *
 * A row says which transaction has it locked only in ways that differ for shared
 * locks and savepoints. Whoever holds a row also holds a lock of the table.
 */
export async function describeRowHolders(
  session: MigrationSession,
  table: TenantTable,
): Promise<string> {
  const holders = await session.query<{ holder: string }>(
    `select coalesce(
              format('process %s of the server (user %s, application "%s")%s',
                a.pid, a.usename, a.application_name,
                -- Not every login may see it.
                ', in a transaction since ' ||
                  to_char(a.xact_start, 'YYYY-MM-DD HH24:MI:SS TZ')),
              'a prepared transaction, see pg_prepared_xacts') as holder
       from (select distinct pid from pg_locks
              where locktype = 'relation' and relation = '${table}'::regclass
                and database = (select oid from pg_database
                                 where datname = current_database())
                and granted and pid is distinct from pg_backend_pid()
                and mode in ('RowShareLock', 'RowExclusiveLock')) l
       left join pg_stat_activity a using (pid)
      order by a.xact_start limit 3`,
  );
  return holders.map(({ holder }) => holder).join('; ') || 'nobody any more';
}
