import type { StepContext } from '../engine/Step';
import { ApplicationConnectedError } from '../errors';
import { APP_ROLE } from '../roles';
import { APPLICATION_PREFIX } from '../session/operatorLock';
import { formatTime } from '../text';

/** A session of the application, as the operator finds it. */
export interface ApplicationSession {
  /** The process of the server. */
  pid: number;
  /** Its `application_name`. */
  application: string;
  /** `null` for a socket of the machine, and for a login that may not see it. */
  address: string | null;
  /** `null` for a login that may not see it. */
  since: Date | null;
}

/** What an undo does to sessions that are connected, and what ends that. */
export interface Interference {
  takes: string;
  advice: string;
}

const LISTED = 20;

/** The sessions of `portal_app` in this database, the longest first. */
export async function readApplicationSessions({
  executor,
}: Pick<StepContext, 'executor'>): Promise<ApplicationSession[]> {
  return executor.read<ApplicationSession>(
    `select a.pid, a.application_name as application,
            host(a.client_addr) as address, a.backend_start as since
       from pg_stat_activity a
      where a.datname = current_database() and a.usename = $1
        and a.pid <> pg_backend_pid()
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        and not starts_with(a.application_name, $2)
      order by a.backend_start, a.pid`,
    [APP_ROLE, APPLICATION_PREFIX],
  );
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
    ...sessions.slice(0, LISTED).map(describe),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join('\n');
  if (settings.force || executor.dryRun) {
    reporter.warn(finding);
    return;
  }
  throw new ApplicationConnectedError(`${finding}\n${advice}`);
}

function describe(session: ApplicationSession): string {
  const { pid, application, address, since } = session;
  return [
    `- ${application ? `"${application}"` : 'a session without a name'}`,
    `process ${pid} of the server`,
    ...(address ? [`from ${address}`] : []),
    ...(since ? [`since ${formatTime(since)}`] : []),
  ].join(', ');
}
