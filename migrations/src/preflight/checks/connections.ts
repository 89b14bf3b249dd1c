import { APP_ROLE } from '../../roles';
import { escapeIdentifier } from '../../sql';
import { script } from '../../text';
import { failure, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** Phase 5 opens them beside its own: one fills entity_terms, one watches the sessions that wait. */
const FURTHER_CONNECTIONS = 2;

/** Of one process of the backend, unless tenancy.database.pool.max says otherwise. */
const POOL = 100;

interface Limit {
  kind: 'role' | 'database' | 'server';
  limit: number;
  used: number;
}

/** CONNECTION LIMIT of the login and the database, and max_connections. */
export const connectionLimits: PreflightCheck = {
  name: 'connection limits',
  scope: 'server',
  fine: 'There is room for the further connections of phase 5.',
  async run(context) {
    const limits = await readLimits(context);
    return [
      ...limits
        .filter(({ limit, used }) => limit - used < FURTHER_CONNECTIONS)
        .map(each => tooFew(each, context)),
      ...(await judgeApplication(context)),
    ];
  },
};

/** None of them binds a superuser; -1 is no limit. */
async function readLimits({
  executor,
  facts,
}: PreflightContext): Promise<Limit[]> {
  if (facts.superuser) {
    return [];
  }
  // Every login may count all sessions, but not see the type of others'. PostgreSQL has
  // reserved_connections since 16.
  return executor.read<Limit>(
    `with sessions as (
       select usename, datname from pg_stat_activity
        where usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend'
     )
     select 'role' as kind, rolconnlimit as limit,
            (select count(*)::int from sessions where usename = rolname) as used
       from pg_roles where rolname = session_user and rolconnlimit >= 0
     union all
     select 'database', datconnlimit,
            (select count(*)::int from sessions s where s.datname = d.datname)
       from pg_database d where d.datname = current_database() and datconnlimit >= 0
     union all
     select 'server', (sum(setting::int) filter (where name = 'max_connections')
                       - coalesce(sum(setting::int) filter (where name <> 'max_connections'), 0))::int,
            (select count(*)::int from sessions)
       from pg_settings
      where name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections')`,
  );
}

function tooFew(
  { kind, limit, used }: Limit,
  { facts }: PreflightContext,
): Outcome {
  const name = kind === 'role' ? facts.login : facts.database;
  const whose = kind === 'server' ? 'The server' : `The ${kind} ${name}`;
  const wanted = used + FURTHER_CONNECTIONS;
  return failure(
    `${whose} may have ${limit} connections and has ${used}. Phase 5 opens ${FURTHER_CONNECTIONS} more.`,
    kind === 'server'
      ? { advice: 'Raise max_connections, or close connections.' }
      : {
          advice: 'Let somebody who may run this, or close connections.',
          sql: script([
            `alter ${kind} ${escapeIdentifier(
              name,
            )} connection limit ${wanted}`,
          ]),
        },
  );
}

async function judgeApplication({
  executor,
}: PreflightContext): Promise<Outcome[]> {
  const roles = await executor.read<{ limit: number }>(
    `select rolconnlimit as limit from pg_roles
      where rolname = $1 and rolconnlimit between 0 and $2 - 1`,
    [APP_ROLE, POOL],
  );
  return roles.map(({ limit }) =>
    warning(
      `${APP_ROLE} may have ${limit} connections (CONNECTION LIMIT), and the pool of each backend process opens up to ${POOL}.`,
      {
        advice: 'Lower tenancy.database.pool.max, or raise the limit.',
        sql: script([`alter role ${APP_ROLE} connection limit -1`]),
      },
    ),
  );
}
