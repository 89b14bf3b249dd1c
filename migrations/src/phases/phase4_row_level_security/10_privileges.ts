import { bookkeepingTables } from '../../engine/journal';
import type { Step } from '../../engine/Step';
import { grantMissing, undoGrants, writeGrants } from '../../schema/grants';
import {
  findHiddenExtension,
  grantAdminToApp,
  readRoleAccess,
  roleStatement,
} from '../../schema/roleAccess';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';

/** The state key of what was granted. */
export const ADMIN_GRANTS = 'phase4.grants';

/** Grants `portal_admin` the schema and the application the membership in it. */
export const privileges: Step = {
  name: '4_10_privileges',
  title: `Grant ${ADMIN_ROLE} the schema, and ${ADMIN_ROLE} to ${APP_ROLE}`,

  async up(context) {
    const { executor, settings } = context;
    const hidden = await findHiddenExtension(context);
    await executor.transaction({
      title: `Grant ${ADMIN_ROLE} what the owner of the tables needs`,
      locks: 'None that conflicts with reads or writes.',
      statements: await grantMissing(context, ADMIN_GRANTS, [
        {
          kind: 'schema',
          name: settings.schema,
          role: ADMIN_ROLE,
          privileges: ['usage', 'create'],
        },
        ...(hidden
          ? [
              {
                kind: 'schema' as const,
                name: hidden.schema,
                role: ADMIN_ROLE,
                privileges: ['usage'],
              },
            ]
          : []),
        // The migration itself acts as portal_admin.
        ...(await writeGrants(executor, ADMIN_ROLE, bookkeepingTables)),
      ]),
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
    const { executor, reporter } = context;
    await executor.transaction({
      title: `Revoke from ${ADMIN_ROLE} what was granted`,
      locks: 'None that conflicts with reads or writes.',
      statements: await undoGrants(context, ADMIN_GRANTS),
    });
    reporter.info(
      `${ADMIN_ROLE} stays granted to ${APP_ROLE}, because roles belong to the ` +
        'server and other databases of it may need that. Where none does: ' +
        `"revoke ${ADMIN_ROLE} from ${APP_ROLE};".`,
    );
  },
};
