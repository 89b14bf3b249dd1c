import type { StepContext } from '../engine/Step';
import { ApplicationConnectedError } from '../errors';
import { APP_ROLE } from '../roles';
import { describeSessions } from '../session/describeSessions';

/** What an undo does to sessions that are connected, and what ends that. */
export interface Interference {
  takes: string;
  advice: string;
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
  const sessions = await describeSessions(
    executor,
    `r.rolname = '${APP_ROLE}'`,
  );
  if (sessions === '') {
    return;
  }
  const finding = `Sessions of ${APP_ROLE} are connected to this database, and this rollback takes ${takes} from them:\n${sessions}`;
  if (settings.force || executor.dryRun) {
    reporter.warn(finding);
    return;
  }
  throw new ApplicationConnectedError(`${finding}\n${advice}`);
}
