import type { Phase, StepContext } from '../../engine/Step';
import { checkRoleAccess } from '../../schema/roleAccess';
import { refuseShape } from '../../checks/examineShape';
import { privileges } from './10_privileges';
import { owners } from './30_owners';
import { policies } from './40_policies';
import { verification } from './50_verification';
import { RefusedError } from '../../errors';
import { TENANT_SETTING } from '../../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import { TENANT_TABLES } from '../../schema/tables';
import { APPLICATION_PREFIX } from '../../session/operatorLock';

export const phase4: Phase = {
  number: 4,
  title: 'Enable row-level security',
  check: checkRoleAccess,
  async checkTables(context) {
    await refuseShape(context, 'Phase 4 cannot begin');
    await checkSessions(context);
  },
  steps: [privileges, owners, policies, verification],
};

const TABLES = [...TENANT_TABLES];

/** A session of an application that does not know tenants. */
interface OldSession {
  pid: number;
  login: string;
  application: string;
  address: string | null;
  /** Whether the policy does not apply to its login: a superuser, or BYPASSRLS. */
  bypasses: boolean;
}

/**
 * Refuses while sessions other than the new application's can write: they set no tenant, so
 * the policy would refuse them.
 *
 * Only warns of sessions that bypass row-level security, such as monitoring by a superuser:
 * the policy does not bind them, but tenant_id loses its default.
 */
async function checkSessions(context: StepContext): Promise<void> {
  const { executor, settings, reporter } = context;
  const sessions = await executor.read<OldSession>(
    `select a.pid, a.usename as login, a.application_name as application,
            host(a.client_addr) as address, r.rolsuper or r.rolbypassrls as bypasses
       from pg_stat_activity a
       join pg_roles r on r.oid = a.usesysid
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        and a.usename not in ($2, $3)
        and not starts_with(a.application_name, $4)
        and exists (select from unnest($1::text[]) t
                     where has_table_privilege(a.usesysid, to_regclass(t), 'insert'))
      order by bypasses, a.pid limit 10`,
    [TABLES, APP_ROLE, ADMIN_ROLE, APPLICATION_PREFIX],
  );
  const bypassing = sessions.filter(({ bypasses }) => bypasses);
  if (bypassing.length > 0) {
    reporter.warn(
      'Sessions that bypass row-level security can write to the tables:\n' +
        `${bypassing.map(describe).join('\n')}\n` +
        'Stop those that know no tenants: an INSERT has to name its tenant_id from now on.',
    );
  }
  const refused = sessions.filter(({ bypasses }) => !bypasses);
  if (refused.length === 0) {
    return;
  }
  const list = refused.map(describe).join('\n');
  const finding =
    `Sessions that do not connect as ${APP_ROLE} can write to the tables:\n${list}\n` +
    `From this phase on, a session that does not set ${TENANT_SETTING} is refused`;
  if (settings.force) {
    reporter.warn(`${finding}.`);
    return;
  }
  throw new RefusedError(
    `${finding}. Stop them, let them connect as ${APP_ROLE}, or give --force to go on.`,
  );
}

function describe(session: OldSession): string {
  const { pid, login, application, address } = session;
  return (
    `- ${
      application ? `"${application}"` : 'a session without a name'
    }, login ` +
    `${login}, process ${pid} of the server${
      address ? `, from ${address}` : ''
    }`
  );
}
