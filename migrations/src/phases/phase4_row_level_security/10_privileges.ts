import { bookkeepingTables } from '../../engine/journal';
import type { Step, StepContext } from '../../engine/Step';
import {
  grantedPrivileges,
  grantMissing,
  grantStatement,
  revokeStatement,
  sequencesOf,
  undoGrants,
} from '../../schema/grants';
import type { Grant } from '../../schema/grants';
import {
  grantAdminToApp,
  readRoleAccess,
  roleStatement,
} from '../../schema/roleAccess';
import { ADMIN_ROLE, APP_PRIVILEGES, APP_ROLE } from '../../roles';
import { TENANT_TABLES } from '../../schema/tables';

const GRANTS = 'phase4.grants';
// The state key of the rights that the application's role lost.
const REVOKED = 'phase4.revoked';

/**
 * Grants `portal_admin` the schema and the application the membership in it; revokes from
 * the application the rights that row-level security does not restrict.
 */
export const privileges: Step = {
  name: '4_10_privileges',
  title: `Grant ${ADMIN_ROLE} the schema, and ${ADMIN_ROLE} to ${APP_ROLE}`,

  async up(context) {
    const { executor, settings, state } = context;
    const excess = await excessPrivileges(context);
    await executor.transaction({
      title: `Grant ${ADMIN_ROLE} what the owner of the tables needs`,
      locks: 'None that conflicts with reads or writes.',
      statements: [
        ...(await grantMissing(context, GRANTS, await adminGrants(context))),
        ...excess.map(revokeStatement),
        ...(excess.length > 0 ? [state.put(REVOKED, excess)] : []),
      ],
    });
    if (settings.adminGrant) {
      const access = await readRoleAccess(context);
      if (!access.adminGranted) {
        await executor.execute(
          roleStatement(
            `not pg_has_role('${APP_ROLE}', '${ADMIN_ROLE}', 'MEMBER')`,
            grantAdminToApp(access),
          ),
        );
      }
    }
  },

  async down(context) {
    const { executor, state, reporter } = context;
    const revoked = (await state.get<Grant[]>(REVOKED)) ?? [];
    await executor.transaction({
      title: `Revoke from ${ADMIN_ROLE} what was granted`,
      locks: 'None that conflicts with reads or writes.',
      statements: [
        ...(await undoGrants(context, GRANTS)),
        ...revoked.map(grantStatement),
        state.forget(REVOKED),
      ],
    });
    reporter.info(
      `${ADMIN_ROLE} stays granted to ${APP_ROLE}, because roles belong to the ` +
        'server and other databases of it may need that. Where none does: ' +
        `"revoke ${ADMIN_ROLE} from ${APP_ROLE};".`,
    );
  },
};

async function adminGrants({
  executor,
  settings,
}: StepContext): Promise<Grant[]> {
  const role = ADMIN_ROLE;
  const grants: Grant[] = [
    {
      kind: 'schema',
      name: settings.schema,
      role,
      privileges: ['usage', 'create'],
    },
  ];
  // The migration itself acts as portal_admin.
  for (const table of bookkeepingTables) {
    grants.push({
      kind: 'table',
      name: table,
      role,
      privileges: [...APP_PRIVILEGES],
    });
    for (const name of await sequencesOf(executor, table)) {
      grants.push({ kind: 'sequence', name, role, privileges: ['usage'] });
    }
  }
  return grants;
}

/** The rights of the application's role beyond those that phase 3 grants. */
async function excessPrivileges({
  executor,
  state,
}: StepContext): Promise<Grant[]> {
  const excess = (await state.get<Grant[]>(REVOKED)) ?? [];
  for (const name of TENANT_TABLES) {
    const object = { kind: 'table', name, role: APP_ROLE } as const;
    const beyond = (await grantedPrivileges(executor, object)).filter(
      privilege => !APP_PRIVILEGES.some(each => each === privilege),
    );
    if (beyond.length > 0) {
      excess.push({ ...object, privileges: beyond });
    }
  }
  return excess;
}
