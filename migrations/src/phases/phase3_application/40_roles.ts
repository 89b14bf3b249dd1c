import type { Step } from '../../engine/Step';
import { grantMissing, undoGrants, writeGrants } from '../../schema/grants';
import {
  createRoleStatement,
  grantAdminToLogin,
  mayGiveBypassRls,
  readRoleAccess,
  roleStatement,
} from '../../schema/roleAccess';
import type { RoleAccess } from '../../schema/roleAccess';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import { existingTables } from '../../schema/lookups';
import { TENANT_TABLES } from '../../schema/tables';

/** The state key of what was granted. */
export const APP_GRANTS = 'phase3.grants';

/** The two roles, and the rights of the application's. */
export const roles: Step = {
  name: '3_40_roles',
  title: `Set up the roles ${ADMIN_ROLE} and ${APP_ROLE}`,

  async up(context) {
    const access = await readRoleAccess(context);
    for (const statement of roleStatements(access)) {
      await context.executor.execute(statement);
    }
    const { executor, settings } = context;
    const role = APP_ROLE;
    const tables = await existingTables(executor, TENANT_TABLES);
    await executor.transaction({
      title: `Grant ${role} what the application needs`,
      locks: 'None that conflicts with reads or writes.',
      statements: await grantMissing(context, APP_GRANTS, [
        { kind: 'schema', name: settings.schema, role, privileges: ['usage'] },
        { kind: 'table', name: 'tenants', role, privileges: ['select'] },
        ...(await writeGrants(executor, role, tables)),
      ]),
    });
  },

  async down(context) {
    await context.executor.transaction({
      title: `Revoke from ${APP_ROLE} what was granted`,
      locks: 'None that conflicts with reads or writes.',
      statements: await undoGrants(context, APP_GRANTS),
    });
    context.reporter.info(
      `The roles ${ADMIN_ROLE} and ${APP_ROLE} stay, because they belong to the ` +
        `server and other databases of it may need them. Where none does: ` +
        `"drop role ${APP_ROLE}; drop role ${ADMIN_ROLE};".`,
    );
  },
};

function roleStatements(access: RoleAccess): string[] {
  const { admin, app, superuser } = access;
  const statements: string[] = [];
  if (!admin.exists) {
    statements.push(
      createRoleStatement(
        ADMIN_ROLE,
        mayGiveBypassRls(access) ? 'nologin bypassrls' : 'nologin',
      ),
    );
  }
  if (!app.exists) {
    // Without a password, which the operator sets.
    statements.push(createRoleStatement(APP_ROLE, 'login noinherit'));
  }
  const mayGrant = !admin.exists || admin.grantable;
  if (!superuser && mayGrant && !(admin.settable && admin.inherited)) {
    statements.push(roleStatement('true', grantAdminToLogin(access)));
  }
  return statements;
}
