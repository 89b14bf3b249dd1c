import { RefusedError } from '../../errors';
import type { Step, StepContext } from '../../engine/Step';
import { catalogOnly } from '../../schema/changes';
import {
  CREATE_TENANT_REQUIRED,
  dropTenantPolicyStatements,
  TENANT_REQUIRED,
  tenantPolicyStatements,
} from '../../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { existingTables } from '../../schema/lookups';
import { formatThings } from '../../text';

/**
 * Enables row-level security, and drops the default of tenant_id: every writer sets its
 * tenant.
 */
export const policies: Step = {
  name: '4_40_policies',
  title: 'Keep the rows of tenants apart',

  creates: [TENANT_REQUIRED],

  async up({ executor }) {
    await executor.transaction({
      title: 'Create the function that refuses to work without a tenant',
      locks: 'A new function, which no session uses yet.',
      statements: [
        CREATE_TENANT_REQUIRED,
        `alter function ${TENANT_REQUIRED} owner to ${ADMIN_ROLE}`,
        `grant execute on function ${TENANT_REQUIRED} to ${APP_ROLE}`,
      ],
    });
    for (const table of await existingTables(executor, TENANT_TABLES)) {
      await executor.transaction({
        title: `Enable row-level security on ${table}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          ...tenantPolicyStatements(table),
          `alter table ${table} alter column tenant_id drop default`,
        ],
      });
    }
  },

  async down(context) {
    await checkOtherTenants(context);
    for (const table of TENANT_TABLES) {
      await context.executor.transaction({
        title: `Disable row-level security on ${table}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          `alter table ${table} alter column tenant_id set default '${DEFAULT_TENANT_ID}'`,
          ...dropTenantPolicyStatements(table),
        ],
      });
    }
    await context.executor.transaction({
      title: 'Drop the function that refuses to work without a tenant',
      locks: 'None on tables: no policy calls the function any more.',
      statements: [`drop function if exists ${TENANT_REQUIRED}`],
    });
  },
};

/** Refuses an undo after which every session would see the rows of all tenants. */
async function checkOtherTenants({
  executor,
  settings,
}: StepContext): Promise<void> {
  if (settings.force) {
    return;
  }
  const [{ count }] = await executor.read<{ count: number }>(
    'select count(*)::int as count from entities where tenant_id <> $1',
    [DEFAULT_TENANT_ID],
  );
  if (count > 0) {
    throw new RefusedError(
      `${formatThings(count, 'entity')} ${
        count === 1 ? 'belongs' : 'belong'
      } to other tenants than the default one, and without ` +
        'row-level security every session that reads the tables would see them. Delete ' +
        'them, or give --force.',
    );
  }
}
