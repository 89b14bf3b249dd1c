import type { Executor } from '../engine/Executor';
import { escapeLiteral } from '../sql';
import { APPLICATION_PREFIX } from './operatorLock';

const LISTED = 20;

/**
 * The other sessions in this database, one in a line, the longest first, without those of commands
 * of this product; '' where there are none.
 *
 * @param condition - SQL about `a` of pg_stat_activity and the login `r` of pg_roles
 */
export async function describeSessions(
  executor: Executor,
  condition: string,
): Promise<string> {
  // A login may not see the address and the time of others.
  const rows = await executor.read<{ session: string; total: number }>(
    `select concat_ws(', ',
              coalesce('- "' || nullif(a.application_name, '') || '"', '- a session without a name'),
              'login ' || r.rolname,
              format('process %s of the server', a.pid),
              'from ' || host(a.client_addr),
              'since ' || to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) as session,
            count(*) over ()::int as total
       from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        and not starts_with(a.application_name, ${escapeLiteral(
          APPLICATION_PREFIX,
        )})
        and (${condition})
      order by a.backend_start, a.pid limit ${LISTED}`,
  );
  const more = (rows[0]?.total ?? 0) - rows.length;
  return [
    ...rows.map(({ session }) => session),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join('\n');
}
