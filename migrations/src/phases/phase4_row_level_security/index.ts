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
import { describeSessions } from '../../session/describeSessions';

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

/**
 * Refuses while sessions other than the new application's can write: they set no tenant, so
 * the policy would refuse them.
 *
 * Only warns of sessions that bypass row-level security, such as monitoring by a superuser:
 * the policy does not bind them, but tenant_id loses its default.
 */
async function checkSessions(context: StepContext): Promise<void> {
  const { executor, settings, reporter } = context;
  const writes = TENANT_TABLES.map(
    table =>
      `has_table_privilege(r.oid, to_regclass('${table}')::oid, 'insert')`,
  ).join(' or ');
  const old = `r.rolname not in ('${APP_ROLE}', '${ADMIN_ROLE}') and (${writes})`;
  const bypassing = await describeSessions(
    executor,
    `${old} and (r.rolsuper or r.rolbypassrls)`,
  );
  if (bypassing !== '') {
    reporter.warn(
      `Sessions that bypass row-level security can write to the tables:\n${bypassing}\n` +
        'Stop those that know no tenants: an INSERT has to name its tenant_id from now on.',
    );
  }
  const refused = await describeSessions(
    executor,
    `${old} and not (r.rolsuper or r.rolbypassrls)`,
  );
  if (refused === '') {
    return;
  }
  const finding =
    `Sessions that do not connect as ${APP_ROLE} can write to the tables:\n${refused}\n` +
    `From this phase on, a session that does not set ${TENANT_SETTING} is refused`;
  if (settings.force) {
    reporter.warn(`${finding}.`);
    return;
  }
  throw new RefusedError(
    `${finding}. Stop them, let them connect as ${APP_ROLE}, or give --force to go on.`,
  );
}
