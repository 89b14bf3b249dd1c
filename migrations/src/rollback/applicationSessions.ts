import type { StepContext } from '../engine/Step';
import { ApplicationConnectedError } from '../errors';
import { APP_ROLE } from '../roles';
import { APPLICATION_PREFIX } from '../session/operatorLock';

/** What an undo does to sessions that are connected, and what ends that. */
export interface Interference {
  takes: string;
  advice: string;
}

const LISTED = 20;

/** The sessions of `portal_app` in this database in words, the longest first. */
export async function readApplicationSessions({
  executor,
}: Pick<StepContext, 'executor'>): Promise<string[]> {
  // A login may not see the address and the time of others.
  const rows = await executor.read<{ session: string }>(
    `select concat_ws(', ',
              coalesce('"' || nullif(a.application_name, '') || '"', 'a session without a name'),
              format('process %s of the server', a.pid),
              'from ' || host(a.client_addr),
              'since ' || to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) as session
       from pg_stat_activity a
      where a.datname = current_database() and a.usename = $1
        and a.pid <> pg_backend_pid()
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        and not starts_with(a.application_name, $2)
      order by a.backend_start, a.pid`,
    [APP_ROLE, APPLICATION_PREFIX],
  );
  return rows.map(({ session }) => session);
}

/**
 * Refuses an undo while the application is connected that it takes something from.
 * With `--force`, and in a dry run, that is a warning.
 *
 * An idle application may have no session at this moment, and one that was just stopped
 * may still have some: this check finds forgotten instances, and the drop of
 * `tenancy_ready` keeps all transactions of others off the tables.
 *
 * @throws {@link ApplicationConnectedError} which names the sessions
 */
export async function refuseApplicationSessions(
  context: StepContext,
  { takes, advice }: Interference,
): Promise<void> {
  const { executor, settings, reporter } = context;
  const sessions = await readApplicationSessions(context);
  if (sessions.length === 0) {
    return;
  }
  const more = sessions.length - LISTED;
  const finding = [
    `Sessions of ${APP_ROLE} are connected to this database, and this rollback takes ${takes} from them:`,
    ...sessions.slice(0, LISTED).map(session => `- ${session}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join('\n');
  if (settings.force || executor.dryRun) {
    reporter.warn(finding);
    return;
  }
  throw new ApplicationConnectedError(`${finding}\n${advice}`);
}
